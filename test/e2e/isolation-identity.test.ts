// No token reaches a call that is not its person's: tenants × endpoints × people × ways × eras, all at once and again, with
// the same names everywhere, held against an oracle that knows who asked alone.

import { decodeJwt, decodeProtectedHeader } from "jose";
import { expect, test } from "vitest";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { startAuthorizationServer, type AuthorizationServer } from "../support/authorization-server.ts";
import { startEchoApi } from "../support/echo-api.ts";
import { actingClient, startLoginWorker, toolText } from "../support/login-tenant.ts";
import { ERAS, type Json } from "../support/mcp-client.ts";

const { origin } = await startLoginWorker({}, "acting-worker");
const admin = fixtureAdmin(origin, "apart");

const AUDIENCES = ["https://one.example", "https://two.example"];
const PEOPLE = ["alice", "bob"];

const echoApi = () =>
  startEchoApi(async (token) => Object.assign({ kid: decodeProtectedHeader(token).kid }, decodeJwt(token)));

async function tenantAt(server: AuthorizationServer, via: "signed" | "exchange") {
  const exchange = via === "exchange" && { tokenUrl: `${server.issuer}/token`, clientId: "us" };
  const identity = { via, audiences: AUDIENCES, ...exchange };
  const auth = { issuers: [{ issuer: server.issuer, identity }] };
  const document = { mode: "oauth", auth, profiles: { small: {} } };
  const id = await admin.tenant(document);
  return { id, document, server, iss: via === "signed" ? `${origin}/login/${id}` : server.issuer };
}

test("whoever asks has their own token, of their own tenant, for what they asked", async () => {
  const [one, two, api] = await Promise.all([startAuthorizationServer(), startAuthorizationServer(), echoApi()]);
  const tenants = await Promise.all([
    tenantAt(one, "signed"),
    tenantAt(one, "signed"),
    tenantAt(one, "exchange"),
    tenantAt(two, "signed"),
    tenantAt(two, "exchange"),
  ]);
  const asked = tenants.flatMap((tenant) =>
    [`/mcp/${tenant.id}`, `/mcp/${tenant.id}/small`].flatMap((path) =>
      PEOPLE.flatMap((sub) => ERAS.map(({ revision }) => ({ ...tenant, url: origin + path, sub, revision }))),
    ),
  );
  const clients = await Promise.all(
    asked.map(async ({ url, sub, revision, server, ...rest }) => {
      const token = await server.token({ aud: url, sub, email: `${sub}@${rest.id}.example` });
      return { ...rest, sub, client: await actingClient(url, revision, token) };
    }),
  );
  const keys = new Map<string, Set<unknown>>();
  for (let round = 0; round < 2; round += 1) {
    const calls = clients.flatMap(({ client, ...who }) =>
      AUDIENCES.map(async (audience) => {
        const text = await toolText(client, "call_api", { audience, scopes: ["read"], url: api.url });
        const { as, api: apiClaims } = JSON.parse(text) as { as: string; api: Json };
        const { iss, sub, aud, scope, email, kid } = apiClaims;
        expect({ as, iss, sub, aud, scope }).toEqual({
          as: who.sub,
          iss: who.iss,
          sub: who.sub,
          aud: audience,
          scope: "read",
        });
        if (who.iss.startsWith(origin)) {
          expect(email).toBe(`${who.sub}@${who.id}.example`);
          keys.set(who.id, (keys.get(who.id) ?? new Set()).add(kid));
        }
      }),
    );
    await Promise.all(calls);
  }
  expect(api.requests).toHaveLength(2 * AUDIENCES.length * asked.length);
  // No tenant signs with the key of another.
  expect(Array.from(keys.values(), ({ size }) => size)).toEqual([1, 1, 1]);
  expect(new Set([...keys.values()].flatMap((kids) => [...kids])).size).toBe(3);
});

test("a tenant that is made again under its name signs with another key", async () => {
  const [server, api] = await Promise.all([startAuthorizationServer(), echoApi()]);
  const { id, document } = await tenantAt(server, "signed");
  const url = `${origin}/mcp/${id}`;
  const kidNow = async () => {
    const client = await actingClient(url, "2026-07-28", await server.token({ aud: url }));
    const text = await toolText(client, "call_api", { audience: AUDIENCES[0], url: api.url });
    return (JSON.parse(text) as { api: Json }).api["kid"];
  };
  const before = await kidNow();
  await admin.ask("DELETE", `/tenants/${id}`);
  await admin.ask("POST", "/tenants", { id, document });
  expect(await kidNow()).not.toBe(before);
});
