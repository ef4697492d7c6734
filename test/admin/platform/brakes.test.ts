// What is stopped in every tenant: a lease of its own for all of them, from replicas, which close what they cannot answer for.

import { createExecutionContext, evictDurableObject } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { brakeTables } from "../../../src/admin/platform/brake-tables.ts";
import { platformAt } from "../../../src/admin/platform/platform-door.ts";
import { remote } from "../../../src/tenants/authority/tables.ts";
import { admin, createWorker, defineTool, type Env } from "../../../src/tenantry.ts";
import { ROOT } from "../../support/worker/admin.ts";
import { readerOf, sendTo, servedTenant } from "../../support/worker/deployed.ts";
import { countedEnv, hanging, spoil, spoilObject } from "../../support/worker/platform-faults.ts";

const LEASE_MS = 400;
const REPLICAS = ["policy-0", "policy-1", "policy-2", "policy-3"];
const SHORT = { ADMIN_TOKEN: ROOT, BRAKE_LEASE_MS: String(LEASE_MS) };
const plain = { ...env, ...SHORT } as unknown as Env;

const worker = createWorker({
  tenants: {},
  tools: ["see", "wipe"].map((name) => defineTool({ name, description: name, handler: () => name })),
  features: [admin()],
});

async function ask(method: string, path: string, json?: unknown, at: Env = plain) {
  const headers = { authorization: `Bearer ${ROOT}`, "content-type": "application/json" };
  const body = json === undefined ? null : JSON.stringify(json);
  const request = new Request(`https://mcp.example.com/admin/v1${path}`, { method, headers, body });
  const answer = await worker.fetch(request, at, createExecutionContext());
  return { status: answer.status, body: answer.status === 204 ? undefined : await answer.json() };
}

const calling = (name: string) => ({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: {} } });

async function call(tenant: string, name: string, at: Env = plain) {
  const answer = await sendTo(worker, tenant, { message: calling(name), at });
  const text = await answer.text();
  return { status: answer.status, retryAfter: answer.headers.get("retry-after"), text };
}

const LISTEN = {
  notifications: { toolsListChanged: true },
  _meta: {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  },
};
function listenTo(tenant: string, at: Env = plain) {
  const message = { jsonrpc: "2.0", id: 1, method: "subscriptions/listen", params: LISTEN };
  const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": "subscriptions/listen" };
  return sendTo(worker, tenant, { message, headers, at });
}

const block = (note = "recalled") => ask("POST", "/tools/wipe/block", { note });
const lift = () => ask("DELETE", "/tools/wipe/block");
/** Tenants whose own lease alone would last. */
const patient = () => servedTenant({ mode: "open", maxStalenessMs: 10_000 });
const until = (milliseconds: number) => scheduler.wait(milliseconds);

/** A stream looks once more when it has begun, of which its client hears nothing. */
async function untilNobodyAsks(calls: readonly string[]) {
  let before = -1;
  const isQuiet = () => before === (before = calls.length);
  await expect.poll(isQuiet, { interval: 1000, timeout: 60_000 }).toBe(true);
}

describe("a block", () => {
  it("is kept by replicas that are reset, and by the object that decides", async () => {
    const { id } = await patient();
    await block();
    for (const name of [...REPLICAS, "platform"]) {
      const object = exports.PlatformObject.getByName(name);
      await object.ready();
      await evictDurableObject(object);
    }
    await until(LEASE_MS + 10);
    expect((await call(id, "wipe")).text).toContain("suspended");
    await lift();
    expect((await call(id, "wipe")).text).toContain('"text":"wipe"');
  });

  it("is in force in a tenant whose own lease lasts longer, and lifted again", async () => {
    const { id } = await patient();
    expect((await call(id, "wipe")).text).toContain('"text":"wipe"');
    const before = Date.now();
    expect((await block()).body).toMatchObject({ name: "wipe", changed: true });
    expect(Date.now() - before).toBeLessThan(12_000);
    expect((await call(id, "wipe")).text).toContain("wipe is suspended: recalled");
    expect((await call(id, "see")).text).toContain('"text":"see"');
    await lift();
    expect((await call(id, "wipe")).text).toContain('"text":"wipe"');
  });

  it("calls no tenant, whatever their number", async () => {
    for (let made = 0; made < 8; made += 1) await call((await patient()).id, "see");
    const { at, calls } = countedEnv(SHORT);
    expect((await ask("POST", "/tools/wipe/block", { note: "n" }, at)).status).toBe(200);
    expect(calls.filter((one) => !one.startsWith("PlatformObject platform"))).toEqual([]);
    expect(calls.length).toBeLessThanOrEqual(4);
    await lift();
  });

  it("is waited for also by one who repeats it", async () => {
    const { id } = await patient();
    await call(id, "see");
    const [first, second] = await Promise.all([block("same"), block("same")]);
    expect([first.status, second.status]).toEqual([200, 200]);
    expect((await call(id, "wipe")).text).toContain("suspended");
    await lift();
  });

  it("is in force though a replica does not take it", async () => {
    const { id } = await patient();
    await call(id, "see");
    const ends = await Promise.all(
      REPLICAS.map((name) => spoilObject(name, (method) => (method === "brakes.take" ? hanging() : undefined))),
    );
    const before = Date.now();
    await block();
    expect(Date.now() - before).toBeLessThan(12_000);
    for (const end of ends) end();
    expect((await call(id, "wipe")).text).toContain("suspended");
    await lift();
  });
});

describe("the lease on what is stopped", () => {
  it("is one for all tenants, and asked for once while it lasts", async () => {
    const tenants = await Promise.all([patient(), patient(), patient()]);
    await until(LEASE_MS + 10);
    const { at, calls } = countedEnv({ ...SHORT, BRAKE_LEASE_MS: "5000" });
    for (const { id } of tenants) for (let again = 0; again < 5; again += 1) await call(id, "see", at);
    expect(calls.filter((one) => one.startsWith("PlatformObject"))).toHaveLength(1);
    expect(calls.filter((one) => one.startsWith("TenantObject"))).toHaveLength(3);
    await block();
    await lift();
  });

  it("is asked for by at most three of fifty who find it ended", async () => {
    const { id } = await patient();
    await call(id, "see");
    await until(5100);
    const { at, calls } = countedEnv(SHORT);
    const all = await Promise.all(Array.from({ length: 50 }, () => call(id, "see", at)));
    expect(new Set(all.map(({ status }) => status))).toEqual(new Set([200]));
    expect(calls.filter((one) => one.endsWith("brakes.lease")).length).toBeLessThanOrEqual(3);
  });

  it("comes from another replica where one hangs", async () => {
    const { id } = await patient();
    await until(LEASE_MS + 10);
    const { at, calls } = countedEnv(SHORT);
    await call(id, "see", at);
    const used = calls.find((one) => one.endsWith("brakes.lease"))?.split(" ")[1] ?? "";
    await spoilObject(used, () => hanging());
    await until(LEASE_MS + 10);
    expect((await call(id, "see", at)).status).toBe(200);
    expect(new Set(calls.filter((one) => one.endsWith("brakes.lease")))).toHaveLength(2);
  });

  it("ends when replicas cannot reach who decides: closed, with a time to come again", async () => {
    const { id } = await servedTenant({ mode: "open", maxStalenessMs: 10_000 });
    expect((await call(id, "see")).status).toBe(200);
    const back = await spoilObject("platform", (method) =>
      method === "brakes.follow" ? Promise.reject(new Error("Network connection lost.")) : undefined,
    );
    await until(5100 + LEASE_MS);
    const refused = await call(id, "see");
    expect([refused.status, refused.retryAfter]).toEqual([503, "5"]);
    back();
    expect((await call(id, "see")).status).toBe(200);
  });
});

describe("a stream that nothing else wakes", () => {
  it("is told that the list changed when a tool of it is blocked, and when it is lifted", async () => {
    const { id } = await patient();
    const stream = readerOf(await listenTo(id));
    await stream.until("acknowledged");
    await block();
    await stream.until("tools/list_changed");
    await lift();
    await stream.times("tools/list_changed", 2);
    await stream.cancel();
  }, 150_000);
});

describe("the streams of an isolate", () => {
  it("watch by one socket, which another one has when its stream is over, and ask nothing until they are told", async () => {
    const { id } = await patient();
    const { at, calls } = countedEnv(SHORT);
    const first = readerOf(await listenTo(id, at));
    await first.until("acknowledged");
    const others = await Promise.all([1, 2, 3].map(async () => readerOf(await listenTo(id, at))));
    for (const one of others) await one.until("acknowledged");
    const sockets = () => calls.filter((one) => /^PlatformObject policy-\d fetch$/.test(one)).length;
    await expect.poll(sockets).toBe(1);
    await untilNobodyAsks(calls);
    calls.length = 0;
    await first.cancel();
    await expect.poll(sockets, { timeout: 40_000 }).toBe(1);
    expect(calls.filter((one) => !one.endsWith("fetch"))).toEqual([]);
    await block();
    await Promise.all(others.map((one) => one.until("tools/list_changed")));
    // One asks for all of them; the tenant's own lease may have ended, and takes this one with it.
    expect(calls.filter((one) => one.endsWith("brakes.lease")).length).toBeLessThanOrEqual(4);
    expect(sockets()).toBe(1);
    await Promise.all(others.map((one) => one.cancel()));
    await lift();
  }, 150_000);
});

describe("a tenant whose own object does not answer", () => {
  it("is stopped all the same, its streams closed, and resumed when its object is back", async () => {
    const { id, object } = await patient();
    expect((await call(id, "see")).status).toBe(200);
    const stream = readerOf(await listenTo(id));
    await stream.until("acknowledged");
    const back = await spoil(object, () => Promise.reject(new Error("Network connection lost.")));
    const before = Date.now();
    const stopped = await ask("POST", `/tenants/${id}/suspensions`, { kind: "tenant", note: "broken into" });
    expect([stopped.status, stopped.body]).toMatchObject([200, { changed: true }]);
    expect(Date.now() - before).toBeLessThan(12_000);
    const refused = await call(id, "see");
    expect([refused.status, refused.text]).toEqual([403, expect.stringContaining("Suspended: broken into")]);
    expect(await stream.until("never said")).toContain('"resultType":"complete"');
    back();
    expect((await ask("GET", `/tenants/${id}/suspensions`)).body).toMatchObject({ items: [{ kind: "tenant" }] });
    expect((await ask("GET", `/tenants/${id}`)).body).toMatchObject({ suspended: "broken into" });
    expect((await ask("DELETE", `/tenants/${id}/suspensions/tenant`)).body).toMatchObject({ changed: true });
    expect((await call(id, "see")).status).toBe(200);
  });

  it("is suspended anew by its own object, in the words that callers are told from then on", async () => {
    const { id, object } = await patient();
    const suspend = (note: string) => ask("POST", `/tenants/${id}/suspensions`, { kind: "tenant", note });
    const back = await spoil(object, () => Promise.reject(new Error("Network connection lost.")));
    await suspend("broken into");
    back();
    expect(await suspend("under repair")).toMatchObject({ status: 200, body: { changed: true } });
    expect(await call(id, "see")).toMatchObject({ status: 403, text: expect.stringContaining("under repair") });
    const listed = await ask("GET", `/tenants/${id}/suspensions`);
    expect(listed.body).toMatchObject({ items: [{ kind: "tenant", note: "under repair" }] });
  });

  it("is not stopped under another of its name", async () => {
    const { id } = await patient();
    const stops = remote(platformAt(env, "platform"), brakeTables);
    await stops.stopTenant({ id, created: "2026-01-01T00:00:00.000000Z", note: "an earlier one" }, { name: "ann" });
    await until(LEASE_MS + 5100);
    expect((await call(id, "see")).status).toBe(200);
  });

  it("is not one that nobody knows", async () => {
    expect((await ask("POST", "/tenants/nobody-at-all/suspensions", { kind: "tenant", note: "n" })).status).toBe(404);
  });
});
