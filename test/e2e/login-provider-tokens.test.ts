// A handler acts as somebody who signed in at the tenant's own authorization server: by the token of their provider, which
// one Worker renews, by what that is exchanged for, or by a token that the tenant signs.

import { decodeJwt } from "jose";
import { afterEach, describe, expect, test } from "vitest";
import { bearer, fixtureAdmin } from "../support/fixture-admin.ts";
import { startEchoApi } from "../support/echo-api.ts";
import type { IdentityProvider } from "../support/identity-provider.ts";
import { actingClient, startLoginWorker, toolText } from "../support/login-tenant.ts";
import { ERAS, type Json } from "../support/mcp-client.ts";
import { signInAs, startIdentityProvider } from "../support/provider-login.ts";
import { startTokenEndpoint } from "../support/token-endpoint.ts";

const worker = await startLoginWorker({}, "acting-worker");
const { origin } = worker;
const admin = fixtureAdmin(origin, "provided");

const API = "https://api.acme.example";
const PROVIDER = { via: "provider", audiences: [API] };
const REVISION = "2026-07-28";

/** Tokens of the provider and of ours. */
const SECRET = /(access|refresh)-[0-9a-f]{8}-|tn[ar]_/;
const tokens: string[] = [];
const ids: string[] = [];

afterEach(() => {
  for (const token of tokens) expect(worker.log()).not.toContain(token);
});

async function tenantWith(identity: Json) {
  let issuer = "";
  const provider = await startIdentityProvider(() => issuer);
  provider.people["bob"] = { sub: "00u-bob", name: "Bob", email: "bob@example.com", groups: ["Staff"] };
  const login = { via: "oidc", issuer: provider.issuer, clientId: "us", identity };
  const id = await admin.tenant({ mode: "oauth", auth: { login } });
  ids.push(id);
  issuer = `${origin}/login/${id}`;
  const url = `${origin}/mcp/${id}`;
  const tokenFor = async (person: string) => {
    const token = await signInAs(person, issuer, provider);
    tokens.push(token);
    return token;
  };
  const signIn = async (person: string, revision: string = REVISION) =>
    actingClient(url, revision, await tokenFor(person));
  return { provider, issuer, url, signIn, tokenFor };
}

/** It knows whom a token of the provider is for, as the provider says it. */
const apiOf = (provider: IdentityProvider) =>
  startEchoApi(async (token) => {
    tokens.push(token);
    const response = await fetch(`${provider.issuer}/userinfo`, { headers: bearer(token) });
    return (await response.json()) as Json;
  });

const renewals = ({ heard: requests }: IdentityProvider) =>
  requests.filter(({ form }) => form.get("grant_type") === "refresh_token").length;

const kinds = ["call_api", "call_api_streamed", "call_api_later"] as const;

describe.each(ERAS)("in era $era", ({ revision }) => {
  test("60 parallel calls of two people reach the API as who called, by the tokens of their provider", async () => {
    const { provider, signIn } = await tenantWith(PROVIDER);
    const api = await apiOf(provider);
    const people = ["alice", "bob"];
    const clients = [await signIn("alice", revision), await signIn("bob", revision)];
    const calls = Array.from({ length: 60 }, async (_none, at) => {
      const text = await toolText(clients[at % 2]!, kinds[at % 3] ?? "", { audience: API, url: api.url });
      return { sub: `00u-${people[at % 2]}`, ...(JSON.parse(text) as { as: string; api: Json }) };
    });
    const mixed = (await Promise.all(calls)).filter(
      ({ sub, as, api: apiClaims }) => as !== sub || apiClaims["sub"] !== sub,
    );
    expect(mixed).toEqual([]);
    expect(api.requests).toHaveLength(60);
    expect(new Set(api.requests).size).toBe(2);
  });

  test("a token that ends is renewed by one of all who want it, and nobody is logged out", async () => {
    const { provider, signIn } = await tenantWith(PROVIDER);
    const api = await apiOf(provider);
    provider.life = 30;
    const clients = [await signIn("alice", revision), await signIn("bob", revision)];
    provider.life = 3600;
    for (let round = 1; round <= 2; round += 1) {
      const notifications = await Promise.all(
        Array.from({ length: 60 }, (_none, at) =>
          toolText(clients[at % 2]!, kinds[at % 3] ?? "", { audience: API, url: api.url }),
        ),
      );
      const subjects = notifications.map((one) => (JSON.parse(one) as { api: Json }).api["sub"]);
      expect(subjects).toEqual(notifications.map((_one, at) => ["00u-alice", "00u-bob"][at % 2]));
      expect(renewals(provider)).toBe(2);
      expect(new Set(api.requests).size).toBe(2);
    }
  });
});

test("a provider that is away when a token ends costs nobody their login", async () => {
  const { provider, signIn } = await tenantWith(PROVIDER);
  const api = await apiOf(provider);
  provider.life = 30;
  const client = await signIn("alice");
  const call = (question: Json = {}) => toolText(client, "call_api", { audience: API, url: api.url, ...question });
  provider.instead["/token"] = () => new Response("no", { status: 503 });
  expect(await call()).toContain("(away)");
  delete provider.instead["/token"];
  provider.life = 3600;
  expect(await call()).toContain('"sub":"00u-alice"');
  expect(await call({ scopes: ["openid"] })).toContain('"sub":"00u-alice"');
  expect(await call({ scopes: ["openid", "orders.read"] })).toContain("(scopes)");
  expect(await call({ audience: `${API}/` })).toContain("(audience)");
});

test("somebody whom the provider lets in no more has no token when theirs ends", async () => {
  const { provider, signIn } = await tenantWith(PROVIDER);
  const api = await apiOf(provider);
  provider.life = 30;
  const [alice, bob] = [await signIn("alice"), await signIn("bob")];
  provider.disabled.add("alice");
  const call = (client: typeof alice) => toolText(client, "call_api", { audience: API, url: api.url });
  expect(await call(alice)).toContain("(again): the provider no longer issues tokens for this caller");
  expect(await call(bob)).toContain('"sub":"00u-bob"');
});

test("the provider's token is what is exchanged", async () => {
  const endpoint = await startTokenEndpoint();
  const exchange = { via: "exchange", audiences: [API], tokenUrl: endpoint.url, clientId: "us" };
  const { provider, signIn } = await tenantWith(exchange);
  const api = await startEchoApi(async (token) => ({ token }));
  const [alice, bob] = [await signIn("alice"), await signIn("bob")];
  const call = (client: typeof alice) =>
    toolText(client, "call_api_later", { audience: API, scopes: ["orders.read"], url: api.url });
  expect(await call(alice)).toContain("token-number-1");
  expect(await call(bob)).toContain("token-number-2");
  expect(await call(alice)).toContain("token-number-1");
  const subjects = await Promise.all(
    endpoint.requests.map(async ({ form }) => {
      const token = form.get("subject_token") ?? "";
      tokens.push(token);
      return (await fetch(`${provider.issuer}/userinfo`, { headers: bearer(token) })).json();
    }),
  );
  expect(subjects).toMatchObject([{ sub: "00u-alice" }, { sub: "00u-bob" }]);
  expect(Object.fromEntries(endpoint.requests[0]?.form ?? [])).toMatchObject({ audience: API, scope: "orders.read" });
});

test("a token that the tenant signs says who signed in, and who vouches for them", async () => {
  const { provider, issuer, signIn } = await tenantWith({ via: "signed", audiences: [API] });
  const api = await startEchoApi(async (token) => decodeJwt(token));
  const text = await toolText(await signIn("bob"), "call_api", { audience: API, url: api.url });
  const { as, api: apiClaims } = JSON.parse(text) as { as: string; api: Json };
  expect([as, apiClaims]).toMatchObject([
    "00u-bob",
    { iss: issuer, sub: "00u-bob", aud: API, idp: provider.issuer, email: "bob@example.com", groups: ["Staff"] },
  ]);
});

test("the log and the audit log have nothing of what the provider gave", async () => {
  const audits = await Promise.all(ids.map((id) => admin.ask("GET", `/tenants/${id}/audit`)));
  expect(JSON.stringify(audits)).toContain("grant.create");
  for (const token of tokens) expect(JSON.stringify(audits)).not.toContain(token);
  expect(JSON.stringify(audits)).not.toMatch(SECRET);
  expect(tokens.length).toBeGreaterThan(20);
  expect(worker.log()).toContain("IdentityError");
  expect(worker.log()).not.toMatch(SECRET);
});
