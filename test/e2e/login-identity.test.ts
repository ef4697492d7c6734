// A handler acts as the person who calls: what it is told of them, the token with which it calls the tenant's own API, and
// that nobody ever gets another one's. The authorization server and the API are real ones, as far as a Worker sees them.

import { createRemoteJWKSet, decodeJwt, jwtVerify } from "jose";
import { afterEach, describe, expect, test } from "vitest";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { startAuthorizationServer, type AuthorizationServer } from "../support/authorization-server.ts";
import { startEchoApi } from "../support/echo-api.ts";
import { actingClient, startLoginWorker, toolText, whoamiAs } from "../support/login-tenant.ts";
import { ERAS, type Json } from "../support/mcp-client.ts";

const worker = await startLoginWorker({}, "acting-worker");
const { origin } = worker;
const admin = fixtureAdmin(origin, "identity");

const API = "https://api.acme.example";
/** Every token that any of it has seen. */
const tokens: string[] = [];
const CLIENT_SECRET = "a secret of the client's with : and ü";

afterEach(() => {
  for (const token of tokens) expect(worker.log()).not.toContain(token.split(".").at(-1));
  expect(worker.log()).not.toContain(CLIENT_SECRET);
});

async function tokenOf(server: AuthorizationServer, claims: Json): Promise<string> {
  const token = await server.token(claims);
  tokens.push(token);
  return token;
}

/** A tenant that takes tokens of the server, and whose handlers reach its API so. */
async function tenantWith(server: AuthorizationServer, identity: Json | undefined, document: Json = {}) {
  const issuer = { issuer: server.issuer, ...(identity && { identity }) };
  const id = await admin.tenant({ mode: "key+oauth", auth: { issuers: [issuer] }, ...document });
  return { id, url: `${origin}/mcp/${id}` };
}

const SIGNED = { via: "signed", audiences: [API] };
const exchangeAt = (server: AuthorizationServer, more: Json = {}): Json => ({
  via: "exchange",
  audiences: [API],
  tokenUrl: `${server.issuer}/token`,
  clientId: "tenant client",
  ...more,
});

const echoApi = () =>
  startEchoApi(async (token) => {
    tokens.push(token);
    return decodeJwt(token);
  });

/** As in docs/login-identity.md: one that knows the tenant by its issuer alone. */
async function verifyingApi(issuer: string) {
  const keys = createRemoteJWKSet(new URL(`${issuer}/jwks`));
  return startEchoApi(async (token) => {
    tokens.push(token);
    const { payload } = await jwtVerify(token, keys, { issuer, audience: API, algorithms: ["ES256"], typ: "at+jwt" });
    return payload;
  });
}

const kinds = ["call_api", "call_api_streamed", "call_api_later"] as const;

describe.each(ERAS)("in era $era", ({ revision }) => {
  const clientAs = (url: string, token: string) => actingClient(url, revision, token);

  test("a handler is told the e-mail, name and groups of a person, and the claims that the document names", async () => {
    const server = await startAuthorizationServer();
    const id = await admin.tenant({
      mode: "oauth",
      auth: { issuers: [{ issuer: server.issuer, claims: ["department"] }] },
    });
    const claims = { email: "alice@example.com", name: "Alice", groups: ["Staff", 7], department: "x", phone: "1" };
    const url = `${origin}/mcp/${id}`;
    const answerOf = async (own: Json) => whoamiAs(url, revision, await tokenOf(server, { aud: url, ...own }), "me");
    const alice = { kind: "oauth", subject: "alice", email: "alice@example.com", name: "Alice", groups: ["Staff"] };
    expect(await answerOf(claims)).toMatchObject({ ...alice, claims: { department: "x" } });
    for (const verified of [false, "false"]) {
      expect(await answerOf({ ...claims, email_verified: verified })).not.toHaveProperty("email");
    }
    expect(await answerOf({ email: ["x"], name: 1, groups: "Staff" })).not.toMatchObject({ name: expect.anything() });
  });

  test.each(kinds)("%s calls the API with a token that the tenant signed for who calls", async (tool) => {
    const server = await startAuthorizationServer();
    const { id, url } = await tenantWith(server, SIGNED);
    const api = await verifyingApi(`${origin}/login/${id}`);
    const token = await tokenOf(server, { aud: url, email: "alice@example.com", groups: ["Staff"] });
    const params = { audience: API, scopes: ["orders.read", "orders.write"], url: api.url };
    const reply = JSON.parse(await toolText(await clientAs(url, token), tool, params)) as { api: Json };
    expect(reply).toMatchObject({
      as: "alice",
      api: {
        iss: `${origin}/login/${id}`,
        sub: "alice",
        aud: API,
        scope: "orders.read orders.write",
        email: "alice@example.com",
        groups: ["Staff"],
        idp: server.issuer,
      },
    });
    expect(Number(reply.api["exp"]) - Number(reply.api["iat"])).toBe(300);
  });

  test("the API is called with what the authorization server gives in exchange for the caller's token", async () => {
    const server = await startAuthorizationServer();
    const { id, url } = await tenantWith(server, exchangeAt(server, { clientSecret: "{{secret:API_CLIENT}}" }));
    await admin.ask("PUT", `/tenants/${id}/secrets/API_CLIENT`, { value: CLIENT_SECRET });
    const api = await echoApi();
    const alice = await tokenOf(server, { aud: url });
    const client = await clientAs(url, alice);
    const params = { audience: API, scopes: ["orders.read"], url: api.url };
    const reply = JSON.parse(await toolText(client, "call_api", params)) as { api: Json };
    expect(reply.api).toMatchObject({ iss: server.issuer, sub: "alice", aud: API, scope: "orders.read" });
    const [{ form, authorization } = {}] = server.exchanges;
    expect(Object.fromEntries(form ?? [])).toEqual({
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
      subject_token: alice,
      subject_token_type: "urn:ietf:params:oauth:token-type:access_token",
      requested_token_type: "urn:ietf:params:oauth:token-type:access_token",
      audience: API,
      scope: "orders.read",
    });
    const [name, secret] = atob(authorization?.replace("Basic ", "") ?? "").split(":");
    const decoded = [...new URLSearchParams(`${name}=${secret}`)];
    expect(decoded).toEqual([["tenant client", CLIENT_SECRET]]);
  });

  test("an exchanged token is kept for the same person, audience and scopes, and for nobody and nothing else", async () => {
    const server = await startAuthorizationServer();
    const { id, url } = await tenantWith(server, exchangeAt(server, { audiences: [API, `${API}/2`] }));
    const api = await echoApi();
    const [alice, bob] = await Promise.all(
      ["alice", "bob"].map(async (sub) => clientAs(url, await tokenOf(server, { aud: url, sub }))),
    );
    if (!alice || !bob) throw new Error("no clients");
    const call = async (client: typeof alice, question: Json = {}) =>
      JSON.parse(await toolText(client, "call_api", { audience: API, url: api.url, ...question })) as { api: Json };
    for (let count = 0; count < 5; count += 1) await call(alice);
    expect(server.exchanges).toHaveLength(1);
    expect((await call(bob)).api["sub"]).toBe("bob");
    await call(alice, { audience: `${API}/2` });
    await call(alice, { scopes: ["orders.read"] });
    expect(server.exchanges).toHaveLength(4);
    expect(server.exchanges[0]?.form.get("client_id")).toBe("tenant client");
    // Another tenant, at which the same two are known.
    const auth = { issuers: [{ issuer: server.issuer, audience: [url], identity: exchangeAt(server) }] };
    const other = await admin.tenant({ mode: "oauth", auth });
    await call(await clientAs(`${origin}/mcp/${other}`, await tokenOf(server, { aud: url })));
    expect(server.exchanges).toHaveLength(5);
    await admin.apply(id, { mode: "oauth", auth: { issuers: [{ issuer: server.issuer, identity: SIGNED }] } });
    expect((await call(alice)).api["iss"]).toBe(`${origin}/login/${id}`);
  });

  test("a handler that gets no token for its caller is told why, and what helps", async () => {
    const server = await startAuthorizationServer();
    const { id, url } = await tenantWith(server, SIGNED);
    const key = await admin.key(id);
    const token = await tokenOf(server, { aud: url });
    const why = async (client: Promise<Awaited<ReturnType<typeof clientAs>>>, question: Json = {}) =>
      toolText(await client, "call_api", { audience: API, url: "https://unused.example", ...question });
    expect(await why(clientAs(url, key.token))).toMatch(
      /\(key\): an API key does not identify a person: sign in instead/,
    );
    for (const audience of [`${API}/`, API.toUpperCase(), "", undefined, [API]]) {
      expect(await why(clientAs(url, token), { audience })).toContain("(audience)");
    }
    for (const scopes of [[""], ["a b"], ['"'], ["ä"], Array.from({ length: 51 }, () => "a")]) {
      expect(await why(clientAs(url, token), { scopes })).toContain("(scopes)");
    }
    const open = await admin.tenant({ mode: "open" });
    expect(await why(actingClient(`${origin}/mcp/${open}`, revision))).toContain(
      "(anonymous): the caller is not signed in",
    );
    const without = await tenantWith(server, undefined);
    const there = await tokenOf(server, { aud: without.url });
    expect(await why(clientAs(without.url, there))).toContain("(unset): `identity` is not set");
  });

  test("a refused exchange says that it was, and neither the token nor what the server wrote", async () => {
    const server = await startAuthorizationServer();
    const { url } = await tenantWith(server, exchangeAt(server));
    const token = await tokenOf(server, { aud: url });
    const client = await clientAs(url, token);
    const why = (tool = "call_api") => toolText(client, tool, { audience: API, url: "https://unused.example" });
    const body = { error: "invalid_grant", error_description: `not ${token}`, access_token: token };
    server.refuses = { status: 400, body };
    expect(await why()).toMatch(/^no token for this caller \(refused\): [^.]*`identity` in the tenant's document$/);
    server.refuses = { status: 200, body: { access_token: `${token}\n`, token_type: "Bearer" } };
    expect(await why()).toContain("(refused)");
    server.refuses = { status: 200, body: { access_token: token, token_type: "mac" } };
    expect(await why()).toContain("(refused)");
    server.refuses = { status: 503, body };
    expect(await why()).toContain("(away)");
    server.refuses = undefined;
    // No token is stored, so what goes on without its request has none to exchange.
    if (revision !== "2026-07-28") expect(await why("call_api_later")).toContain("(stored)");
  });

  test.each([
    { via: "signed", how: () => SIGNED },
    { via: "exchange", how: (server: AuthorizationServer) => exchangeAt(server) },
  ])("60 parallel calls of two people reach the API as who called, by $via", async ({ via, how }) => {
    const server = await startAuthorizationServer();
    const { url } = await tenantWith(server, how(server));
    const api = await echoApi();
    const people = ["alice", "bob"];
    const clients = await Promise.all(
      people.map(async (sub) => clientAs(url, await tokenOf(server, { aud: url, sub, email: `${sub}@example.com` }))),
    );
    const tools = via === "exchange" ? kinds.slice(0, 2) : kinds;
    const calls = Array.from({ length: 60 }, async (_none, at) => {
      const [sub = "", client] = [people[at % 2], clients[at % 2]];
      const tool = tools[at % tools.length] ?? "";
      const scopes = [`s${at % 5}`];
      const reply = client && JSON.parse(await toolText(client, tool, { audience: API, url: api.url, scopes }));
      return [sub, scopes[0], reply as { as: string; api: Json }] as const;
    });
    const mixed = (await Promise.all(calls)).filter(
      ([sub, scope, { as, api: apiClaims }]) => as !== sub || apiClaims["sub"] !== sub || apiClaims["scope"] !== scope,
    );
    expect(mixed).toEqual([]);
    expect(api.requests).toHaveLength(60);
  });
});

test("an API of one tenant takes no token of another, and keys are there for tenants that sign alone", async () => {
  const server = await startAuthorizationServer();
  const [one, two] = await Promise.all([tenantWith(server, SIGNED), tenantWith(server, SIGNED)]);
  const api = await verifyingApi(`${origin}/login/${one.id}`);
  const answerOf = async ({ url }: { readonly url: string }) => {
    const client = await actingClient(url, "2026-07-28", await tokenOf(server, { aud: url }));
    return toolText(client, "call_api", { audience: API, url: api.url });
  };
  expect(await answerOf(one)).toContain('"sub":"alice"');
  expect(await answerOf(two)).toContain("JWKSNoMatchingKey");
  const keysOf = async ({ id }: { readonly id: string }) => fetch(`${origin}/login/${id}/jwks`);
  const published = await keysOf(one);
  expect(published.headers.get("content-type")).toBe("application/jwk-set+json");
  expect(published.headers.get("access-control-allow-origin")).toBe("*");
  expect((await published.json()) as Json).toMatchObject({ keys: [{ kty: "EC", alg: "ES256", use: "sig" }] });
  const none = await tenantWith(server, undefined);
  expect(await (await keysOf(none)).json()).toEqual({ keys: [] });
  expect((await keysOf({ id: await admin.tenant({ mode: "open" }) })).status).toBe(404);
});

test("a document that says how in a way that cannot be is refused", async () => {
  const ruleOf = (...issuers: Json[]) =>
    admin.tenant({ mode: "oauth", auth: { issuers } }).then(String, (error: unknown) => String(error));
  const one = { issuer: "https://login.example.com" };
  const two = { issuer: "https://other.example.com" };
  const exchange = { via: "exchange", audiences: [API], tokenUrl: "https://login.example.com/token", clientId: "x" };
  const of = (identity: Json) => ruleOf({ ...one, identity });
  expect(await of({ via: "signed" })).toContain("audiences");
  expect(await of({ via: "signed", audiences: [] })).toContain("audiences");
  expect(await of({ via: "provider", audiences: [API] })).toContain("needs a login via oidc or oauth2");
  expect(await of({ ...exchange, tokenUrl: "http://10.0.0.1/token" })).toContain("must begin with https://");
  expect(await of({ ...exchange, clientId: undefined })).toContain("is required when via is exchange");
  expect(await of({ ...exchange, clientSecret: "hunter2" })).toContain("must be {{secret:NAME}}");
  const both = await ruleOf({ ...one, identity: SIGNED }, { ...two, identity: SIGNED });
  expect(both).toContain("must be signed for one issuer only");
  expect(await ruleOf({ ...one, identity: SIGNED }, { ...two, identity: exchange })).toMatch(/^identity-/);
});

test("the log has no token in it", async () => {
  expect(tokens.length).toBeGreaterThan(100);
  expect(worker.log()).toContain("IdentityError");
  expect(worker.log()).not.toMatch(/eyJ[\w-]+\.[\w-]+\./);
});
