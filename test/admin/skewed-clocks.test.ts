// Clocks of objects are half a minute ahead or behind. A withdrawal is acknowledged when the last lease has ended.

import { env, exports } from "cloudflare:workers";
import { describe, expect, it, onTestFinished } from "vitest";
import { admin, createWorker } from "../../src/tenantry.ts";
import { evictPolicy, peekPolicy } from "../../src/tenants/cache/policy-cache.ts";
import { ask, newTenant, waitForRollout } from "../support/workerd/admin.ts";
import { sendTo } from "../support/workerd/served-tenant.ts";
import { aroundCalls } from "../support/workerd/object-calls.ts";

const LEASE_MS = 800;
const mcp = createWorker({
  tenants: async () => ({ maxStalenessMs: LEASE_MS }),
  features: [admin()],
  hooks: { onError: () => {} },
});

/** What the object does at once in a call, all that its tables do, sees this clock. */
async function skewed(object: DurableObjectStub, ms: number): Promise<void> {
  const end = await aroundCalls(object, (_method, call) => {
    const now = Date.now;
    Date.now = () => now() + ms;
    try {
      return call();
    } finally {
      Date.now = now;
    }
  });
  onTestFinished(end);
}

/** A tenant to which this isolate has a lease, given by an object with another clock. */
async function leased(ms: number, document: object = {}): Promise<string> {
  const id = await newTenant({ mode: "open", maxStalenessMs: LEASE_MS, ...document });
  await skewed(exports.TenantObject.getByName(id), ms);
  expect((await list(id)).status).toBe(200);
  return id;
}

async function list(id: string): Promise<Response> {
  const answered = await sendTo(mcp, id, { message: { jsonrpc: "2.0", id: 1, method: "tools/list" } });
  await answered.body?.cancel();
  return answered;
}

const keyOf = async (id: string) =>
  ((await ask("POST", `/tenants/${id}/keys`, { json: { name: "k" } })).body as { id: string }).id;

const TAKEN: Readonly<Record<string, (id: string) => Promise<unknown>>> = {
  "a suspension": (id) => ask("POST", `/tenants/${id}/suspensions`, { json: { kind: "tenant", note: "n" } }),
  "a document that was waited for": (id) => ask("PUT", `/tenants/${id}/document?wait=1`, { json: { title: "new" } }),
  "a tenant that is deleted": (id) => ask("DELETE", `/tenants/${id}`),
};

describe.each([30_000, -30_000])("where the tenant's object is %i ms ahead", (ms) => {
  it.each(Object.entries(TAKEN))("%s is acknowledged when the last lease has ended, and soon", async (_what, take) => {
    const id = await leased(ms);
    const until = peekPolicy(id)?.validUntil ?? Infinity;
    const began = Date.now();
    await take(id);
    expect(Date.now()).toBeGreaterThanOrEqual(until);
    expect(Date.now() - began).toBeLessThan(20_000);
    evictPolicy(id);
  });

  it("a key that is revoked is acknowledged when the last lease has ended", async () => {
    const id = await newTenant({ mode: "key", maxStalenessMs: LEASE_MS });
    await skewed(exports.TenantObject.getByName(id), ms);
    const key = await keyOf(id);
    await list(id);
    const until = peekPolicy(id)?.validUntil ?? Infinity;
    const began = Date.now();
    const { body } = await ask("DELETE", `/tenants/${id}/keys/${key}`);
    expect(Date.now()).toBeGreaterThanOrEqual(until);
    expect(Date.now() - began).toBeLessThan(20_000);
    const said = Date.parse((body as { effectiveAt: string }).effectiveAt);
    expect(Math.abs(said - Date.now())).toBeLessThan(10_000);
  });

  it("a rollout of a base is done when the last lease has ended, even if the platform's clock differs, too", async () => {
    const base = `base-${crypto.randomUUID().slice(0, 8)}`;
    await ask("PUT", `/bases/${base}`, { json: { title: "old" } });
    const id = await leased(ms, { extends: [base] });
    await skewed(exports.PlatformObject.getByName("platform"), -ms);
    const until = peekPolicy(id)?.validUntil ?? Infinity;
    const began = Date.now();
    await ask("PUT", `/bases/${base}`, { json: { title: "new" } });
    await waitForRollout(ask("POST", `/bases/${base}/rollout`, { json: {} }));
    expect(Date.now()).toBeGreaterThanOrEqual(until);
    expect(Date.now() - began).toBeLessThan(20_000);
  });

  it("changed() settles when the last lease has ended", async () => {
    const id = `t-${crypto.randomUUID()}`;
    await skewed(exports.TenantObject.getByName(id), ms);
    expect((await list(id)).status).toBe(200);
    const until = peekPolicy(id)?.validUntil ?? Infinity;
    const began = Date.now();
    await mcp.tenant(env, id).invalidate();
    expect(Date.now()).toBeGreaterThanOrEqual(until);
    expect(Date.now() - began).toBeLessThan(20_000);
  });
});
