// Official clients at a tenant that has login of its own: they find everything by themselves, from the first refusal to the
// call, and go on when their access token has ended.

import { describe, expect, test } from "vitest";
import { tamper } from "../support/tamper.ts";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { LOGIN_CLIENTS } from "../support/official-login-clients.ts";
import { byKey } from "../support/login-browser.ts";
import type { Json } from "../support/mcp-client.ts";
import { listAs, startLoginWorker } from "../support/login-tenant.ts";

const worker = await startLoginWorker();
const { origin } = worker;
const admin = fixtureAdmin(origin, "official");

async function tenantByKey() {
  const id = await admin.tenant({ mode: "key+oauth", auth: { login: { via: "key" } } });
  const { token, id: key } = await admin.key(id);
  return { id, url: `${origin}/mcp/${id}`, token, key };
}

describe.each(LOGIN_CLIENTS)("$title", ({ logIn }) => {
  test("logs in by nothing but the URL, and calls as who pasted a key", async () => {
    const { url, token, key } = await tenantByKey();
    const client = await logIn(url, byKey(token));
    const answer = JSON.parse(await client.call("whoami")) as Json;
    expect(answer).toMatchObject({ id: `key ${key}` });
  });

  test("logs in at a profile, with a token for that profile alone", async () => {
    const id = await admin.tenant({ mode: "oauth", auth: { login: { via: "key" } }, profiles: { small: {} } });
    const { token } = await admin.key(id);
    const url = `${origin}/mcp/${id}/small`;
    const { store } = await logIn(url, byKey(token));
    const access = (store.savedTokens as { access_token: string }).access_token;
    expect((await listAs(url, "2026-07-28", access)).status).toBe(200);
    expect((await listAs(`${origin}/mcp/${id}`, "2026-07-28", access)).status).toBe(401);
  });

  test("goes on with its refresh token where its access token has ended", async () => {
    const { url, token, key } = await tenantByKey();
    const { store, call } = await logIn(url, byKey(token));
    const before = store.savedTokens as { access_token: string };
    store.savedTokens = { ...before, access_token: tamper(before.access_token) };
    store.asked = undefined;
    expect(JSON.parse(await call("whoami"))).toMatchObject({ id: `key ${key}` });
    expect(store.asked).toBeUndefined();
    expect((store.savedTokens as { access_token: string }).access_token).not.toBe(before.access_token);
  });
});
