import { describe, expect, it, onTestFinished, vi } from "vitest";
import { upstreamCalls, catalogReads, type FairSemaphore } from "../../../src/gateway/guard/fair-semaphore.ts";
import { createWorker, gateway } from "../../../src/tenantry.ts";
import { ask, newTenant } from "../../support/workerd/admin.ts";
import { sendTo, servedTenant } from "../../support/workerd/served-tenant.ts";
import { upstreamAt } from "../../support/workerd/upstreams.ts";

const worker = createWorker({ tenants: {}, features: [gateway()] });

const listing = () =>
  upstreamAt(async (request) => {
    const { id, method } = await request.json<{ id: number; method: string }>();
    const discovered = { supportedVersions: ["2026-07-28"], capabilities: { tools: {} } };
    const tools = [{ name: "add", inputSchema: { type: "object" } }];
    const result = method === "tools/list" ? { tools } : { ...discovered, content: [] };
    return Response.json({ jsonrpc: "2.0", id, result });
  });

/** Others have all of it, as far as many tenants may, until the function is called. */
function fill(semaphore: FairSemaphore): () => void {
  const left: (() => void)[] = [];
  for (let tenant = 0, out = semaphore.tryAcquire("t0"); out; out = semaphore.tryAcquire(`t${(tenant += 1)}`))
    left.push(out);
  const empty = () => {
    for (const out of left.splice(0)) out();
  };
  onTestFinished(empty);
  return empty;
}

describe("calls", () => {
  it("are refused with a Retry-After, and count no longer when they end", async () => {
    const document = { mode: "open" as const, upstreams: { up: { url: listing(), era: "2026" as const } } };
    const { id } = await servedTenant({ ...document, maxStalenessMs: 50 });
    const send = async (method: string, params: object = {}) =>
      (await sendTo(worker, id, { message: { jsonrpc: "2.0", id: 1, method, params } })).text();
    await expect.poll(() => send("tools/list"), { timeout: 10_000 }).toContain("up__add");
    const call = () => send("tools/call", { name: "up__add", arguments: {} });
    const empty = fill(upstreamCalls);
    expect(await call()).toContain("too many requests to upstreams are under way");
    empty();
    expect(await call()).toContain('"content"');
    expect(upstreamCalls.permits).toBe(0);
  });
});

describe("readings", { timeout: 60_000 }, () => {
  it("are refused after a while where an operator waits; beside requests they are put off", async () => {
    const tenant = await newTenant({ upstreams: { up: { url: listing(), era: "2026" } } });
    const path = `/tenants/${tenant}/upstreams/up`;
    const empty = fill(catalogReads);
    // Ten seconds are half of one here.
    const acquireWithin = catalogReads.acquireWithin.bind(catalogReads);
    vi.spyOn(catalogReads, "acquireWithin").mockImplementation((key, ms) => acquireWithin(key, ms / 20));
    onTestFinished(() => void vi.restoreAllMocks());
    const answers = await Promise.all([ask("POST", `${path}/test`), ask("POST", `${path}/refresh`)]);
    for (const { status, text, headers } of answers) {
      expect([status, headers.get("retry-after")]).toEqual([503, "5"]);
      expect(text).toContain("too many upstreams are being read");
    }
    await sendTo(worker, tenant, { message: { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} } });
    expect((await ask("GET", path)).body).toMatchObject({ lastRead: null, reading: false });
    empty();
    expect((await ask("POST", `${path}/refresh`)).body).toMatchObject({ read: true });
    await expect.poll(() => catalogReads.permits, { timeout: 20_000 }).toBe(0);
  });
});
