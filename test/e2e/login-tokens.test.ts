// A tenant that takes tokens of authorization servers: who gets in, who does not, what they are told, and how often a
// server is asked for its keys. The servers are real ones, as far as a resource server sees them.

import { UnsecuredJWT } from "jose";
import { describe, expect, test, vi } from "vitest";
import { CommandLine } from "../support/command-line.ts";
import { bearer, fixtureAdmin } from "../support/fixture-admin.ts";
import { startAuthorizationServer, type AuthorizationServer } from "../support/authorization-server.ts";
import { listAs, LOGIN_HOST, startLoginWorker, whoamiAs } from "../support/login-tenant.ts";
import { mcpClient, ERAS, type Json } from "../support/mcp-client.ts";
import { expectRefusal } from "../support/refusal.ts";
import { sendRaw, type RawReply } from "../support/raw-http.ts";

const worker = await startLoginWorker();
const { origin } = worker;
const admin = fixtureAdmin(origin, "login");

const metadataOf = (path: string) => `${origin}/.well-known/oauth-protected-resource${path}`;

/**
 * A tenant that takes tokens of the server, at its URL. Nobody is refused by what was found out under a lease that has ended: on a busy
 * machine a shorter lease is over before a token is looked at, twice, and the answer is 503.
 */
async function tenantOf(server: AuthorizationServer, issuer: Json = {}, document: Json = {}) {
  const auth = { issuers: [{ issuer: server.issuer, ...issuer }] };
  const id = await admin.tenant({ mode: "oauth", auth, maxStalenessMs: 1000, ...document });
  return { id, url: `${origin}/mcp/${id}` };
}

const toolsOf = ({ text }: RawReply) =>
  (JSON.parse(text) as { result: { tools: { name: string }[] } }).result.tools.map(({ name }) => name);

test("tenantry call says that a token is wanted, and takes one", async () => {
  const server = await startAuthorizationServer();
  const { url } = await tenantOf(server);
  const shell = new CommandLine("/", { HOME: "/nowhere" });
  const { exit, stderr } = await shell.run(["call", url]);
  expect({ exit, stderr }).toEqual({
    exit: 4,
    stderr: expect.stringMatching(
      /^tenantry: .*\(no key or token: people log in here .* needs an access token/,
    ) as string,
  });
  const token = await server.token({ aud: url });
  expect(await shell.run(["call", url], { env: { TENANTRY_KEY: token } })).toMatchObject({ exit: 0, stderr: "" });
});

describe.each(ERAS)("in era $era", ({ era, revision }) => {
  const code = era === "2025" ? -32003 : -32600;

  function expectChallenge(reply: RawReply, path: string, why?: string): void {
    const { message } = expectRefusal(reply, revision, { status: 401, code });
    const wrong = why === undefined ? "" : `, error="invalid_token", error_description="${why}"`;
    expect([message, reply.headers["www-authenticate"]]).toEqual([
      why === undefined ? "Authorization required" : `Invalid credential: ${why}`,
      `Bearer realm="tenantry", resource_metadata="${metadataOf(path)}"${wrong}`,
    ]);
  }

  test.each([
    { place: "oauth", alg: "ES256" },
    { place: "openid", alg: "RS256", path: "/realms/one" },
    { place: "oauth", alg: "EdDSA", path: "/tenants/one" },
  ] as const)("a token of a server with $alg, found by $place metadata, lets its subject in", async (options) => {
    const server = await startAuthorizationServer(options);
    const { url } = await tenantOf(server, { claims: ["email"] });
    const token = await server.token({ aud: url, email: "alice@example.com", phone: "1" });
    const who = { kind: "oauth", id: `oauth ${server.issuer} alice`, subject: "alice" };
    expect(await whoamiAs(url, revision, token)).toEqual({ ...who, claims: { email: "alice@example.com" } });
  });

  test("a call that runs without its request runs as whom its token named", async () => {
    const server = await startAuthorizationServer();
    const { url } = await tenantOf(server);
    const token = await server.token({ aud: ["https://elsewhere.example", url] });
    expect(await whoamiAs(url, revision, token, "whoami_later")).toMatchObject({ kind: "oauth", subject: "alice" });
  });

  test("a request without a token is told where the metadata is, which names the endpoint and its servers", async () => {
    const server = await startAuthorizationServer();
    const { id, url } = await tenantOf(server, {}, { title: "Acme", profiles: { small: {} } });
    expectChallenge(await listAs(url, revision), `/mcp/${id}`);
    expectChallenge(await listAs(`${url}/small/?x=1`, revision), `/mcp/${id}/small/?x=1`);
    for (const path of [`/mcp/${id}`, `/mcp/${id}/small`, `/mcp/${id}/small/?x=1`]) {
      const headers = { origin: "https://inspector.example", "mcp-protocol-version": revision };
      const response = await fetch(metadataOf(path), { headers });
      expect(response.headers.get("access-control-allow-origin")).toBe("*");
      expect(await response.json()).toEqual({
        resource: origin + path,
        authorization_servers: [server.issuer],
        bearer_methods_supported: ["header"],
        resource_name: "Acme",
      });
    }
  });

  test("on a tenant's hostname the endpoint and the root have metadata of that name", async () => {
    const server = await startAuthorizationServer();
    const { id } = await tenantOf(server, {}, { profiles: { small: {} } });
    const host = `${id}.${LOGIN_HOST}`;
    for (const [path, below] of [
      ["", "/mcp"],
      ["/mcp", "/mcp"],
      ["/mcp/small", "/mcp/small"],
    ]) {
      const reply = await sendRaw(metadataOf(path ?? ""), { method: "GET", headers: { host } });
      expect(JSON.parse(reply.text)).toMatchObject({ resource: `http://${host}${below}` });
    }
  });

  test("a token is for the endpoint that it names, and for no other one of the tenant or of another", async () => {
    const server = await startAuthorizationServer();
    const { id, url } = await tenantOf(server, {}, { profiles: { small: {} } });
    const other = await tenantOf(server);
    const [whole, small] = await Promise.all([url, `${url}/small`].map((aud) => server.token({ aud })));
    expect((await listAs(url, revision, whole)).status).toBe(200);
    expect((await listAs(`${url}/small`, revision, small)).status).toBe(200);
    expectChallenge(await listAs(`${url}/small`, revision, whole), `/mcp/${id}/small`, "it is for another audience");
    expectChallenge(await listAs(url, revision, small), `/mcp/${id}`, "it is for another audience");
    expectChallenge(await listAs(other.url, revision, whole), `/mcp/${other.id}`, "it is for another audience");
  });

  test("an audience that the document names is for the tenant itself, in place of its URL", async () => {
    const server = await startAuthorizationServer();
    const { id, url } = await tenantOf(server, { audience: ["api://acme"] }, { profiles: { small: {} } });
    const token = await server.token({ aud: "api://acme" });
    expect((await listAs(url, revision, token)).status).toBe(200);
    expectChallenge(await listAs(`${url}/small`, revision, token), `/mcp/${id}/small`, "it is for another audience");
    const byUrl = await server.token({ aud: url });
    expectChallenge(await listAs(url, revision, byUrl), `/mcp/${id}`, "it is for another audience");
  });

  const LATER = Math.floor(Date.now() / 1000) + 600;
  const EARLIER = LATER - 1200;
  const claimed: readonly (readonly [Json, string])[] = [
    [{ aud: undefined }, "it is for another audience"],
    [{ aud: "URL/" }, "it is for another audience"],
    [{ iss: "https://x.example" }, "it has another issuer"],
    [{ exp: EARLIER }, "it has expired"],
    [{ exp: undefined }, "its exp claim is missing"],
    [{ nbf: LATER }, "it is not valid yet"],
    [{ sub: undefined }, "its sub claim is missing or too long"],
    [{ sub: "" }, "its sub claim is missing or too long"],
    [{ cnf: { jkt: "x" } }, "it is bound to a key, which is not supported"],
  ];

  test("a token with a claim that is wrong is refused for it", async () => {
    const server = await startAuthorizationServer();
    const { id, url } = await tenantOf(server);
    for (const [claims, why] of claimed) {
      const aud = claims["aud"] === "URL/" ? `${url}/` : url;
      const token = await server.token({ ...claims, ...(!("aud" in claims) || claims["aud"] ? { aud } : {}) });
      expectChallenge(await listAs(url, revision, token), `/mcp/${id}`, why);
    }
    expect((await listAs(url, revision, await server.token({ aud: url }))).status).toBe(200);
  });

  test("a token without a signature, or that a public key has signed as a secret, is refused", async () => {
    const server = await startAuthorizationServer();
    const { id, url } = await tenantOf(server);
    const unsigned = new UnsecuredJWT({ sub: "alice" })
      .setIssuer(server.issuer)
      .setAudience(url)
      .setExpirationTime("1h");
    const why = "its algorithm is not allowed";
    expectChallenge(await listAs(url, revision, unsigned.encode()), `/mcp/${id}`, why);
    for (const text of [JSON.stringify(server.publicKey), server.publicKey.x ?? "", "secret"]) {
      const key = new TextEncoder().encode(text);
      const confused = await server.token({ aud: url }, { alg: "HS256", key });
      expectChallenge(await listAs(url, revision, confused), `/mcp/${id}`, why);
    }
  });

  test("a token that is of another kind, was changed, or is none is refused", async () => {
    const server = await startAuthorizationServer();
    const { id, url } = await tenantOf(server);
    const logout = await server.token({ aud: url }, { header: { typ: "logout+jwt" } });
    expectChallenge(await listAs(url, revision, logout), `/mcp/${id}`, "it is not an access token");
    const [header, , signature] = (await server.token({ aud: url })).split(".");
    const [, payload] = (await server.token({ aud: url, sub: "bob" })).split(".");
    const changed = [header, payload, signature].join(".");
    expectChallenge(await listAs(url, revision, changed), `/mcp/${id}`, "it cannot be verified");
    for (const text of ["x", "a.b.c", `${header}.e30.x`, "tnt_0123456789"]) {
      const reply = await listAs(url, revision, text);
      expect(reply.headers["www-authenticate"]).toContain('error="invalid_token"');
      expectRefusal(reply, revision, { status: 401, code });
    }
  });

  test("two servers of a tenant do not sign for each other", async () => {
    const [one, two] = await Promise.all([startAuthorizationServer(), startAuthorizationServer()]);
    const id = await admin.tenant({
      mode: "oauth",
      auth: { issuers: [{ issuer: one.issuer }, { issuer: two.issuer }] },
    });
    const url = `${origin}/mcp/${id}`;
    expect(await whoamiAs(url, revision, await one.token({ aud: url }))).toMatchObject({
      id: `oauth ${one.issuer} alice`,
    });
    expect(await whoamiAs(url, revision, await two.token({ aud: url }))).toMatchObject({
      id: `oauth ${two.issuer} alice`,
    });
    const forged = await two.token({ aud: url, iss: one.issuer });
    expectChallenge(await listAs(url, revision, forged), `/mcp/${id}`, "its signature matches no key of its issuer");
  });

  test("a mode takes keys, tokens, or both, as it says", async () => {
    const server = await startAuthorizationServer();
    const { id, url } = await tenantOf(server);
    const key = await admin.key(id);
    const token = await server.token({ aud: url });
    const auth = { issuers: [{ issuer: server.issuer }] };
    expectChallenge(await listAs(url, revision, key.token), `/mcp/${id}`, "this tenant does not accept API keys");
    await admin.apply(id, { mode: "key+oauth", auth });
    for (const credential of [key.token, token]) expect((await listAs(url, revision, credential)).status).toBe(200);
    expectChallenge(await listAs(url, revision), `/mcp/${id}`);
    const isWithoutMetadata = async () => expect((await fetch(metadataOf(`/mcp/${id}`))).status).not.toBe(200);
    await admin.apply(id, { mode: "key", auth });
    const reply = await listAs(url, revision, token);
    expectRefusal(reply, revision, { status: 401, code });
    expect(reply.headers["www-authenticate"]).toBe('Bearer realm="tenantry", error="invalid_token"');
    await isWithoutMetadata();
    // What no key can be is ignored where nobody needs one.
    await admin.apply(id, { mode: "open", auth });
    expect((await listAs(url, revision, token)).status).toBe(200);
    await isWithoutMetadata();
  });

  test("a claim says which scopes limit what the caller sees, and one that says nothing shows nothing", async () => {
    const server = await startAuthorizationServer();
    const scopes = { claim: "realm_access.roles", values: { admin: ["all"], staff: ["who"] } };
    const named = { all: { tools: ["*"] }, who: { tools: ["whoami"] } };
    const { url } = await tenantOf(server, { scopes }, { scopes: named });
    const seenBy = async (claims: Json) =>
      toolsOf(await listAs(url, revision, await server.token({ aud: url, ...claims })));
    expect(await seenBy({ realm_access: { roles: ["staff", "other"] } })).toEqual(["whoami"]);
    expect(await seenBy({ realm_access: { roles: ["admin"] } })).toEqual(["whoami", "whoami_later"]);
    for (const claims of [{}, { realm_access: { roles: "admin staff" } }, { realm_access: ["admin"] }]) {
      expect(await seenBy(claims)).toEqual([]);
    }
  });

  test("a person who is suspended is refused with each of their tokens", async () => {
    const server = await startAuthorizationServer();
    const { id, url } = await tenantOf(server);
    const principal = `oauth ${server.issuer} alice`;
    await admin.suspend(id, "principal", principal, "on leave");
    const token = await server.token({ aud: url });
    expectRefusal(await listAs(url, revision, token), revision, { status: 403, code });
    expect((await listAs(url, revision, await server.token({ aud: url, sub: "bob" }))).status).toBe(200);
    await admin.ask("DELETE", `/tenants/${id}/suspensions/principal/${encodeURIComponent(principal)}`);
    expect((await listAs(url, revision, token)).status).toBe(200);
  });

  test("a session belongs to whom the token names, and goes on with their next token", async () => {
    const server = await startAuthorizationServer();
    const { url } = await tenantOf(server);
    const client = await mcpClient(revision, url, {}, bearer(await server.token({ aud: url })));
    const next = await server.token({ aud: url, jti: "next" });
    expect((await client.request("tools/list", {}, { headers: bearer(next) })).status).toBe(200);
    const bob = await server.token({ aud: url, sub: "bob" });
    const taken = await client.request("tools/list", {}, { headers: bearer(bob) });
    expect(taken.status).toBe(era === "2025" ? 404 : 200);
  });
});

const REVISION = "2026-07-28";

test("a server is read once, however many tokens of it come at the same time", async () => {
  const server = await startAuthorizationServer();
  const { url } = await tenantOf(server);
  const tokens = await Promise.all(
    Array.from({ length: 20 }, (_none, at) => server.token({ aud: url, sub: `p${at}` })),
  );
  const replies = await Promise.all(tokens.map((token) => listAs(url, REVISION, token)));
  expect(replies.map(({ status }) => status)).toEqual(Array.from(tokens, () => 200));
  for (const token of tokens) await listAs(url, REVISION, token);
  expect(server.asked).toHaveLength(2);
});

const untilStatus = (url: string, token: string, wanted: number) =>
  vi.waitFor(async () => expect((await listAs(url, REVISION, token)).status).toBe(wanted), {
    timeout: 30_000,
    interval: 500,
  });

// A server is not read again within five or ten seconds, which all of these wait for.
describe.concurrent("a server whose keys are read again", () => {
  test("a key that is new is taken within seconds, and names of keys that do not exist have the server asked no more", async ({
    onTestFinished,
  }) => {
    const server = await startAuthorizationServer({ ends: onTestFinished });
    const { url } = await tenantOf(server);
    expect((await listAs(url, REVISION, await server.token({ aud: url }))).status).toBe(200);
    for (let at = 0; at < 20; at += 1) {
      const stranger = await server.token({ aud: url }, { header: { kid: `none-${at}` } });
      expect((await listAs(url, REVISION, stranger)).status).toBe(401);
    }
    expect(server.asked).toHaveLength(2);
    await server.rotate();
    const token = await server.token({ aud: url });
    await untilStatus(url, token, 200);
    expect(server.asked).toHaveLength(4);
  });

  test("a server that is away leaves its tokens unanswered, not refused, and they are taken when it is back", async ({
    onTestFinished,
  }) => {
    const server = await startAuthorizationServer({ ends: onTestFinished });
    server.isAway = true;
    const { url } = await tenantOf(server);
    const token = await server.token({ aud: url });
    const reply = await listAs(url, REVISION, token);
    expectRefusal(reply, REVISION, { status: 503, code: -32603 });
    expect(reply.headers["retry-after"]).toBe("5");
    server.isAway = false;
    await untilStatus(url, token, 200);
  });

  test("a token of a key that a server has since, which is away, is unanswered, not refused", async ({
    onTestFinished,
  }) => {
    const server = await startAuthorizationServer({ ends: onTestFinished });
    const { url } = await tenantOf(server);
    const before = await server.token({ aud: url });
    expect((await listAs(url, REVISION, before)).status).toBe(200);
    await server.rotate();
    server.isAway = true;
    const token = await server.token({ aud: url });
    await untilStatus(url, token, 503);
    expect((await listAs(url, REVISION, before)).status).toBe(200);
    expectRefusal(await listAs(url, REVISION, token), REVISION, { status: 503, code: -32603 });
    server.isAway = false;
    await untilStatus(url, token, 200);
  });
});

test("metadata of another issuer's name is not taken", async () => {
  const server = await startAuthorizationServer();
  const { url } = await tenantOf(server);
  server.namedAs = `${server.issuer}/`;
  expect((await listAs(url, REVISION, await server.token({ aud: url }))).status).toBe(503);
});

test("a document whose issuers cannot be read, are there twice or name no scope is refused", async () => {
  const ruleOf = async (document: Json) => admin.tenant({ mode: "oauth", ...document }).then(String, String);
  const issuers = (...all: Json[]) => ({ auth: { issuers: all } });
  expect(await ruleOf({})).toContain("is required in the mode oauth");
  expect(await ruleOf(issuers({ issuer: "https://10.0.0.1" }))).toContain("lead to the public internet");
  expect(await ruleOf(issuers({ issuer: "http://login.example.com" }))).toContain("must begin with https://");
  expect(await ruleOf(issuers({ issuer: "https://Login.example.com" }))).toContain(
    "must be written https://login.example.com/",
  );
  expect(await ruleOf(issuers({ issuer: "https://login.example.com/?x" }))).toContain("must not have a query");
  const one = { issuer: "https://login.example.com" };
  expect(await ruleOf(issuers(one, one))).toMatch(/issuers must differ/);
  const scopes = { claim: "groups", values: { a: ["writr"] } };
  const named = { scopes: { writer: { tools: ["*"] } } };
  expect(await ruleOf({ ...issuers({ ...one, scopes }), ...named })).toContain('did you mean \\"writer\\"?');
});

test("the log has no token in it", () => {
  expect(worker.log()).not.toMatch(/eyJ[\w-]+\.[\w-]+\./);
});
