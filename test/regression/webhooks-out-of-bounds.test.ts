// A tenant-admin for whom every upstream was out of bounds wrote webhooks to hosts that `OUTBOUND_ALLOW` opens, read their status,
// and had messages signed with any secret, the Worker's too: a signature under a short one is guessed from a list of words.

import { expect, onTestFinished, test } from "vitest";
import { bearer, fixtureAdmin } from "../support/fixture-admin.ts";
import { startGatewayWorker } from "../support/gateway-tenant.ts";
import { startLocalServer } from "../support/local-server.ts";
import type { Json } from "../support/mcp-client.ts";

const LONG = "of-the-worker-0123456789abcdef";
// Of the first tenant of this file.
const origin = await startGatewayWorker({ HOOKS_1__HOOK: LONG }, "noting-worker");
const admin = fixtureAdmin(origin, "hooks");
const SECRET = "{{secret:HOOK}}";

async function receiver() {
  let requestCount = 0;
  const server = await startLocalServer((_request, response) => {
    requestCount += 1;
    response.writeHead(204).end();
  });
  onTestFinished(() => server.stop());
  return { url: `${server.origin}/`, requestCount: () => requestCount };
}

/** What a tenant's own administrator is answered who writes its document. */
async function writing(id: string, document: Json) {
  const name = `admin-of-${id}`;
  const { token } = await admin.ask("POST", "/operators", { name, role: "tenant-admin", tenants: [id] });
  return async (change: Json) => {
    const response = await fetch(`${origin}/admin/v1/tenants/${id}/document`, {
      method: "PUT",
      headers: { ...bearer(String(token)), "content-type": "application/json" },
      body: JSON.stringify({ mode: "open", maxStalenessMs: 50, ...document, ...change }),
    });
    const { errors } = (await response.json()) as { errors?: { field: string }[] };
    return [response.status, ...(errors ?? []).map(({ field }) => field)];
  };
}

test("the Worker's own secret signs no webhook", async () => {
  const { url, requestCount } = await receiver();
  const id = await admin.tenant({ webhooks: { ops: { url, secret: SECRET } } });
  expect(id).toBe("hooks-1");
  const tried = await admin.ask("POST", `/tenants/${id}/webhooks/ops/test`);
  expect(tried).toMatchObject({ delivered: false, why: "the tenant has no secret HOOK" });
  expect(requestCount()).toBe(0);
});

const MADE = `whsec_${btoa(LONG)}`;
const DATABASE = "postgres://reporting:letmein2024@db.acme.internal:5432/crm";

test.each(["letmein2024", DATABASE, `${MADE} letmein2024`, `whsec_${btoa("a short one")}`, " "])(
  "nothing is signed with %j, which could be guessed",
  async (value) => {
    const { url, requestCount } = await receiver();
    const id = await admin.tenant({ webhooks: { ops: { url, secret: SECRET } } });
    await admin.ask("PUT", `/tenants/${id}/secrets/HOOK?wait=1`, { value });
    const tried = await admin.ask("POST", `/tenants/${id}/webhooks/ops/test`);
    expect(tried).toMatchObject({ delivered: false, why: expect.stringContaining("at least 24 characters") as string });
    expect(requestCount()).toBe(0);
    await admin.ask("PUT", `/tenants/${id}/secrets/HOOK?wait=1`, { value: `${MADE} ${MADE}` });
    expect(await admin.ask("POST", `/tenants/${id}/webhooks/ops/test`)).toMatchObject({ delivered: true });
  },
);

test("a tenant's own administrator writes webhooks to hosts within upstreamBounds alone", async () => {
  const { url } = await receiver();
  const ops = { url, secret: SECRET };
  const id = await admin.tenant({ webhooks: { ops } });
  const write = await writing(id, {});
  expect(await write({ webhooks: { ops, mine: ops } })).toEqual([403, "webhooks.mine.url"]);
  expect(await write({ webhooks: { ops: { ...ops, url: `${url}elsewhere` } } })).toEqual([403, "webhooks.ops.url"]);
  // As it was, switched off, or away.
  expect(await write({ webhooks: { ops } })).toEqual([200]);
  expect(await write({ webhooks: { ops: { ...ops, enabled: false } } })).toEqual([200]);
  expect(await write({ webhooks: { ops } })).toEqual([403, "webhooks.ops.url"]);
  expect(await write({ webhooks: {} })).toEqual([200]);
});

test("they do so within bounds that an operator set", async () => {
  const { url } = await receiver();
  const upstreamBounds = { hosts: [new URL(url).host] };
  const id = await admin.tenant({ upstreamBounds });
  const write = await writing(id, { upstreamBounds });
  expect(await write({ webhooks: { mine: { url, secret: SECRET } } })).toEqual([200]);
  const inside = { url: "http://127.0.0.1:1/", secret: SECRET };
  expect(await write({ webhooks: { mine: inside } })).toEqual([403, "webhooks.mine.url"]);
});
