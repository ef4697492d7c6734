import { createExecutionContext, evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { afterEach, describe, expect, it } from "vitest";
import { mapConcurrent } from "../../../src/admin/services/map-concurrent.ts";
import type { BlockResult, Infer, Rollout } from "../../../src/admin/contract.ts";
import { admin, createWorker, defineTool, type Env } from "../../../src/tenantry.ts";
import { directoryOf } from "../../../src/tenants/directory/directory-stub.ts";
import { evictPolicy } from "../../../src/tenants/cache/policy-cache.ts";
import { policyStore } from "../../../src/tenants/object/policy-store.ts";
import { createRpcClient } from "../../../src/tenants/object/store.ts";
import { ROOT } from "../../support/workerd/admin.ts";
import { authorityAway, readerOf, sendTo, servedTenant } from "../../support/workerd/served-tenant.ts";
import { countedEnv, spoil, spoilObject } from "../platform-faults.ts";
import { anyTenant } from "../../support/workerd/tenant.ts";
import { aroundCalls, callOn } from "../../support/workerd/object-calls.ts";

type Done = Infer<typeof BlockResult>;
type Shown = Infer<typeof Rollout>;

const LEASE_MS = 300;
const plain = { ...env, ADMIN_TOKEN: ROOT } as unknown as Env;
const PLATFORM = exports.PlatformObject.getByName("platform");
const lost = () => Promise.reject(new Error("Network connection lost."));
const tools = ["see", "wipe"].map((name) => defineTool({ name, description: name, handler: () => name }));
const hooks = { onError: () => {} };

const worker = createWorker({
  tenants: { "rolled-static": { maxStalenessMs: LEASE_MS }, "rolled-later": { maxStalenessMs: LEASE_MS } },
  tools,
  features: [admin()],
  hooks,
});

const asking = createWorker({
  tenants: (id) => (id.startsWith("rolled-asked") ? { maxStalenessMs: LEASE_MS } : undefined),
  tools,
  features: [admin()],
  hooks,
});

async function ask(method: string, path: string, json?: unknown, at: Env = plain) {
  const headers = { authorization: `Bearer ${ROOT}`, "content-type": "application/json" };
  const body = json === undefined ? null : JSON.stringify(json);
  const request = new Request(`https://mcp.example.com/admin/v1${path}`, { method, headers, body });
  const answer = await worker.fetch(request, at, createExecutionContext());
  return { status: answer.status, body: (answer.status === 204 ? undefined : await answer.json()) as never };
}

const calling = (name: string) => ({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: {} } });

async function call(tenant: string, name: string, by = worker, at: Env = plain): Promise<string> {
  return (await sendTo(by, tenant, { message: calling(name), at })).text();
}

const BLOCKED = "wipe is suspended: recalled";
const CALLED = '"text":"wipe"';

const block = async (note = "recalled") => (await ask("POST", "/tools/wipe/block", { note })).body as Done;
const lift = async () => (await ask("DELETE", "/tools/wipe/block")).body as Done;
const shown = async (version: number) => (await ask("GET", `/rollouts/${version}`)).body as Shown;

async function over({ rollout }: Done): Promise<Shown> {
  await expect.poll(async () => (await shown(rollout)).state, { timeout: 60_000, interval: 50 }).not.toBe("running");
  return shown(rollout);
}

const tenantOf = async (more = {}) => (await servedTenant({ mode: "open", maxStalenessMs: LEASE_MS, ...more })).id;

/** As when the time has come to try again. */
const retryNow = () =>
  runInDurableObject(PLATFORM, (_object, { storage }) => {
    storage.sql.exec("UPDATE unreachable_tenants SET due_at = 0");
    storage.sql.exec("UPDATE deferred_suspensions SET due_at = 0");
    return storage.setAlarm(Date.now());
  });

afterEach(async () => {
  await over(await lift());
});

describe("a block", () => {
  it("is recorded at once, and done when it is in force in every tenant", async () => {
    const id = await tenantOf({ maxStalenessMs: 1500 });
    expect(await call(id, "wipe")).toContain(CALLED);
    const answer = await ask("POST", "/tools/wipe/block", { note: "recalled" });
    expect([answer.status, answer.body]).toMatchObject([202, { name: "wipe", changed: true }]);
    const began = Date.now();
    const done = await over(answer.body);
    expect(done).toMatchObject({ state: "done", about: "block wipe", actor: "root", missing: [] });
    expect(Date.now() - began).toBeLessThan(12_000);
    expect(await call(id, "wipe")).toContain(BLOCKED);
    expect(await call(id, "see")).toContain('"text":"see"');
    expect((await ask("GET", `/tenants/${id}/suspensions`)).body).toMatchObject({
      items: [{ kind: "tool", name: "wipe", note: "recalled" }],
    });
    expect(await ask("DELETE", `/tenants/${id}/suspensions/tool/wipe`)).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining("tenantry block lift wipe") },
    });
    await over(await lift());
    expect(await call(id, "wipe")).toContain(CALLED);
  });

  it("reaches open streams", async () => {
    const id = await tenantOf();
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } };
    const hello = { jsonrpc: "2.0", id: 0, method: "initialize", params };
    const begun = await sendTo(worker, id, { message: hello, at: plain });
    await begun.body?.cancel();
    const headers = { "mcp-session-id": begun.headers.get("mcp-session-id") ?? "" };
    const stream = readerOf(await sendTo(worker, id, { method: "GET", at: plain, headers }));
    await stream.until("open");
    await over(await block());
    await stream.until("tools/list_changed");
    await stream.cancel();
  });

  it("that is followed by its lift, or the other way round, ends in the last state", async () => {
    const id = await tenantOf();
    const first = await block();
    await over(await lift());
    expect(await call(id, "wipe")).toContain(CALLED);
    expect((await over(first)).state).toBe("done");
    const [, , last] = [await block(), await lift(), await block()];
    await over(last);
    expect(await call(id, "wipe")).toContain(BLOCKED);
  });

  it("is in tenants that are made meanwhile: by the admin API, in code, by the author's function, and restored", async () => {
    await over(await block());
    await ask("POST", "/tenants", { id: "rolled-made", document: { mode: "open" } });
    expect(await call("rolled-made", "wipe")).toContain(BLOCKED);
    expect(await call("rolled-static", "wipe")).toContain(BLOCKED);
    expect(await call("rolled-asked-1", "wipe", asking)).toContain(BLOCKED);
    await ask("DELETE", "/tenants/rolled-made");
    await ask("POST", "/tenants", { id: "rolled-made", document: { mode: "open", maxStalenessMs: LEASE_MS } });
    expect(await call("rolled-made", "wipe")).toContain(BLOCKED);
    await over(await lift());
    for (const id of ["rolled-made", "rolled-static"]) expect(await call(id, "wipe")).toContain(CALLED);
    expect(await call("rolled-asked-1", "wipe", asking)).toContain(CALLED);
  });

  it("reaches tenants in code that were requested before", async () => {
    expect(await call("rolled-later", "wipe")).toContain(CALLED);
    expect(await call("rolled-asked-2", "wipe", asking)).toContain(CALLED);
    await over(await block());
    expect(await call("rolled-later", "wipe")).toContain(BLOCKED);
    expect(await call("rolled-asked-2", "wipe", asking)).toContain(BLOCKED);
  });

  it("is in a tenant that is entered before it and made after it", async () => {
    const id = `late-${crypto.randomUUID().slice(0, 8)}`;
    const { created, blocks } = await directoryOf(env, id).add(id, { jurisdiction: null, region: null });
    await over(await block());
    const effective = { mode: "open", maxStalenessMs: LEASE_MS } as const;
    const birth = { created, blocks, own: effective, effective, actor: { name: "ann" }, action: "create" };
    await createRpcClient(anyTenant(id), policyStore).create(birth);
    expect(await call(id, "wipe")).toContain(BLOCKED);
  });

  it("goes beyond what tenants have where the platform's object was set back in time", async () => {
    const id = await tenantOf();
    await over(await block("first"));
    await runInDurableObject(PLATFORM, (_object, { storage }) => {
      storage.sql.exec("UPDATE rollout_state SET version = 1, directory_version = 1");
    });
    await runInDurableObject(exports.TenantObject.getByName(id), (_object, { storage }) => {
      storage.sql.exec("UPDATE blocks_version SET version = ?", Date.now() + 3_600_000);
    });
    await over(await block());
    expect(await call(id, "wipe")).toContain(BLOCKED);
  });

  it("names unreachable tenants, and reaches them when they are back", async () => {
    const { id, object } = await servedTenant({ mode: "open", maxStalenessMs: LEASE_MS });
    const back = await spoil(object, (method) => (method === "policy.takeBlocks" ? lost() : undefined));
    const done = await block();
    await expect.poll(() => shown(done.rollout)).toMatchObject({ state: "running", missing: [id] });
    await retryNow();
    await expect.poll(() => shown(done.rollout)).toMatchObject({ state: "incomplete", missing: [id] });
    expect((await ask("GET", `/tenants/${id}/suspensions`)).body).toMatchObject({
      items: [{ kind: "tool", name: "wipe", onItsWay: true }],
    });
    back();
    await retryNow();
    await expect.poll(() => shown(done.rollout)).toMatchObject({ state: "done", missing: [] });
    expect(await call(id, "wipe")).toContain(BLOCKED);
  });
});

describe("while the platform's object is away", () => {
  it("every tenant serves, also in a fresh isolate; admin requests that need it are 503, and nothing is half done", async () => {
    const id = await tenantOf();
    const back = await spoilObject("platform", () => lost());
    const { at, calls } = countedEnv({ ADMIN_TOKEN: ROOT });
    for (let isolate = 0; isolate < 2; isolate += 1) {
      evictPolicy(id);
      expect(await call(id, "wipe", worker, at)).toContain(CALLED);
      expect(await call(`rolled-asked-away-${isolate}`, "wipe", asking, at)).toContain(CALLED);
    }
    expect(calls.filter((one) => one.startsWith("PlatformObject"))).toEqual([]);
    expect((await ask("POST", "/tools/wipe/block", { note: "recalled" })).status).toBe(503);
    expect((await ask("GET", "/rollouts")).status).toBe(503);
    back();
    expect((await ask("GET", "/tools/blocked")).body).toEqual({ items: [] });
    expect(await call(id, "wipe")).toContain(CALLED);
  });
});

describe("a tenant whose object does not answer", () => {
  const suspend = (id: string, note = "broken into") =>
    ask("POST", `/tenants/${id}/suspensions`, { kind: "tenant", note });

  it("is suspended when it is back: not confirmed until then", async () => {
    const { id, object } = await servedTenant({ mode: "open", maxStalenessMs: LEASE_MS });
    const back = await spoil(object, () => lost());
    expect(await suspend(id)).toMatchObject({ status: 202, body: { changed: true, effectiveAt: null } });
    back();
    await retryNow();
    await expect.poll(() => call(id, "see")).toContain("Suspended: broken into");
    expect((await ask("GET", `/tenants/${id}/suspensions`)).body).toMatchObject({ items: [{ kind: "tenant" }] });
    expect((await ask("DELETE", `/tenants/${id}/suspensions/tenant`)).body).toMatchObject({ changed: true });
    expect(await call(id, "see")).toContain('"text":"see"');
  });

  it("is shown as pending, and a newer resume wins however late the suspension arrives", async () => {
    const { id, object } = await servedTenant({ mode: "open", maxStalenessMs: LEASE_MS });
    await spoil(object, (method) => (method === "policy.suspend" ? lost() : undefined));
    const held = Promise.withResolvers<unknown>();
    let late: readonly unknown[] | undefined;
    await aroundCalls(object, (method, goOn, args) => {
      if (method !== "policy.suspendLate" || late) return goOn();
      late = args;
      return held.promise;
    });
    expect((await suspend(id)).status).toBe(202);
    expect((await ask("GET", `/tenants/${id}/suspensions`)).body).toMatchObject({
      items: [{ kind: "tenant", note: "broken into", onItsWay: true }],
    });
    await expect.poll(() => late !== undefined).toBe(true);
    expect((await ask("DELETE", `/tenants/${id}/suspensions/tenant`)).body).toMatchObject({ changed: true });
    await callOn(object, "policy.suspendLate", ...((late ?? []) as unknown[]));
    held.resolve({ value: { state: "absent" } });
    expect(await call(id, "see")).toContain('"text":"see"');
    expect((await ask("GET", `/tenants/${id}/suspensions`)).body).toMatchObject({ items: [] });
  });

  it("is not reported as unknown", async () => {
    expect((await suspend("nobody-at-all")).status).toBe(404);
  });

  it("serves no request while it is away", async () => {
    const tenant = await servedTenant({ mode: "open", maxStalenessMs: LEASE_MS });
    await authorityAway(tenant);
    const answer = await sendTo(worker, tenant.id, { message: calling("see"), at: plain });
    await answer.body?.cancel();
    expect(answer.status).toBe(503);
  });
});

// Last, as every rollout after it comes to its tenants, too.
it("a block goes on where the platform's object is reset in the middle", async () => {
  const ids = await mapConcurrent(Array.from({ length: 60 }), () => tenantOf());
  const done = await block();
  await expect.poll(async () => (await shown(done.rollout)).tenants, { interval: 1 }).toBeGreaterThan(0);
  await evictDurableObject(PLATFORM);
  expect(await over(done)).toMatchObject({ state: "done", missing: [] });
  await mapConcurrent(ids, async (id) => expect(await call(id, "wipe")).toContain(BLOCKED));
});
