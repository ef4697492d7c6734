// Sessions of the endpoint where time passes or thousands end: what only a test that rules the isolate's clock, and what it
// has in memory, can bring about. The rest is in test/http.

import { createExecutionContext, runInDurableObject } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { afterEach, expect, it, vi } from "vitest";
import { SESSION_LIFETIME_MS } from "../../src/sessions/session-id.ts";
import { createWorker, type Env } from "../../src/tenantry.ts";
import { directoryOf } from "../../src/tenants/directory/directory-stub.ts";
import { policyStore } from "../../src/tenants/object/policy-store.ts";
import { evictPolicy, peekPolicy } from "../../src/tenants/cache/policy-cache.ts";
import { createRpcClient } from "../../src/tenants/object/store.ts";
import { freshTenant, type FreshTenant } from "../support/workerd/tenant.ts";
import { ANY_UID } from "../../src/tenants/object/tenant-uid.ts";
import { callOn, keeperOf } from "../support/workerd/object-calls.ts";

const REVISION = "2025-11-25";
const MANY = 2000;
const worker = createWorker({ tenants: {}, hooks: { onError: () => {} } });

afterEach(() => {
  vi.useRealTimers();
});

async function made(): Promise<FreshTenant> {
  const tenant = freshTenant();
  await directoryOf(env, tenant.id).add(tenant.id, { jurisdiction: null, region: null });
  const document = { mode: "open", maxStalenessMs: 60_000 } as const;
  await createRpcClient(tenant.stub, policyStore).create({
    own: document,
    effective: document,
    actor: { name: "ann" },
    action: "create",
  });
  return tenant;
}

/** What is called at the tenant's authority, which answers as ever. */
function watched(calls: string[]): Env {
  const getByName = (name: string) =>
    keeperOf((method, args) => {
      calls.push(method);
      return callOn(exports.TenantObject.getByName(name), method, ...args);
    });
  return { ...env, TenantObject: { getByName } as never };
}

async function send(
  { id }: FreshTenant,
  method: "POST" | "DELETE",
  session?: string,
  { asked = "ping", bindings = env as Env } = {},
) {
  const about = { protocolVersion: REVISION, capabilities: {}, clientInfo: { name: "t", version: "1" } };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: asked, params: asked === "initialize" ? about : {} });
  const request = new Request(`https://mcp.example.com/mcp/${id}`, {
    method,
    headers: { "content-type": "application/json", ...(session === undefined ? {} : { "mcp-session-id": session }) },
    ...(method === "POST" ? { body } : {}),
  });
  const response = await worker.fetch(request, bindings, createExecutionContext());
  await response.arrayBuffer();
  return response;
}

async function begin(tenant: FreshTenant): Promise<string> {
  return (await send(tenant, "POST", undefined, { asked: "initialize" })).headers.get("mcp-session-id") ?? "none";
}

const statusOf = async (...sending: Parameters<typeof send>) => (await send(...sending)).status;

it("a session is one until the last millisecond of its life, and none from then on", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const tenant = await made();
  const session = await begin(tenant);
  const ends = Date.now() + SESSION_LIFETIME_MS;
  vi.setSystemTime(ends - 1);
  expect(await statusOf(tenant, "POST", session)).toBe(200);
  vi.setSystemTime(ends);
  for (const method of ["POST", "DELETE"] as const) expect(await statusOf(tenant, method, session)).toBe(404);
  // Another isolate has not opened the id before.
  evictPolicy(tenant.id);
  expect(await statusOf(tenant, "POST", session)).toBe(404);
});

/** Ends sessions as DELETE does, without the objects that remember nothing of them; in one visit. */
function endMany({ object }: FreshTenant, count: number): Promise<void> {
  return runInDurableObject(object, async (instance) => {
    for (let at = 0; at < count; at += 1) {
      await callOn(instance, "ended.endSession", ANY_UID, crypto.randomUUID(), Date.now() + SESSION_LIFETIME_MS);
    }
  });
}

it("two thousand sessions that ended cost a lease a bounded number of ids, and all of them stay ended", async () => {
  const tenant = await made();
  const [bystander, first, last] = [await begin(tenant), await begin(tenant), await begin(tenant)];
  expect(await statusOf(tenant, "DELETE", first)).toBe(204);
  await endMany(tenant, MANY);
  expect(await statusOf(tenant, "DELETE", last)).toBe(204);
  const lease = await createRpcClient(tenant.stub, policyStore).lease({
    version: null,
    maxStalenessMs: 50,
    inCode: false,
    keyHash: null,
    endedAfter: null,
  });
  expect(lease).toMatchObject({ state: "granted", endedSessions: { nonces: { length: 1000 } } });
  // Another isolate, which knows what its lease brought, and asks about what is older.
  evictPolicy(tenant.id);
  for (const session of [first, last]) expect(await statusOf(tenant, "POST", session)).toBe(404);
  for (const session of [bystander, await begin(tenant)]) expect(await statusOf(tenant, "POST", session)).toBe(200);
  expect(peekPolicy(tenant.id)?.endedSessions.bytes).toBeLessThan(256 * 1024);
});

it("a session asks the authority about its end once, if it is older than what the lease brought, and never if not", async () => {
  const tenant = await made();
  const older = await begin(tenant);
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 5000 });
  await endMany(tenant, MANY);
  vi.setSystemTime(Date.now() + 5000);
  evictPolicy(tenant.id);
  const newer = await begin(tenant);
  for (const [session, asked] of [
    [older, 1],
    [newer, 0],
  ] as const) {
    const calls: string[] = [];
    const bindings = watched(calls);
    for (let times = 0; times < 3; times += 1) {
      expect(await statusOf(tenant, "POST", session, { bindings })).toBe(200);
    }
    expect(calls).toHaveLength(asked);
  }
});
