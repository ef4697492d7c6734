import { expect, it, vi } from "vitest";
import { createWorker, gateway } from "../../src/tenantry.ts";
import { sendTo, servedTenant } from "../support/workerd/served-tenant.ts";
import { upstreamAt } from "../support/workerd/upstreams.ts";

const worker = createWorker({ tenants: {}, features: [gateway()] });
/** Seconds have to pass. */
const PATIENT = { timeout: 30_000 };
const JSON_TYPE = { "content-type": "application/json" };
const DISCOVERED = { supportedVersions: ["2026-07-28"], capabilities: { tools: {} } };
const TOOLS = { tools: [{ name: "go", inputSchema: { type: "object" } }] };

/** `go` is answered when `answered` resolves. */
async function serving(timeoutMs: number, answered: Promise<void>): Promise<string> {
  const url = upstreamAt(async (request) => {
    const { id, method } = await request.json<{ readonly id: number; readonly method: string }>();
    if (method === "tools/call") await answered;
    const results: Record<string, object> = { "server/discover": DISCOVERED, "tools/list": TOOLS };
    return Response.json({ jsonrpc: "2.0", id, result: results[method] ?? { content: [] } }, { headers: JSON_TYPE });
  });
  const { id } = await servedTenant({
    mode: "open",
    maxStalenessMs: 50,
    upstreams: { up: { url, era: "2026", timeoutMs } },
  });
  const list = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };
  await vi.waitFor(async () => expect(await (await sendTo(worker, id, { message: list })).text()).toContain("up__go"), {
    timeout: 10_000,
    interval: 50,
  });
  return id;
}

const call = { jsonrpc: "2.0", id: 7, method: "tools/call", params: { name: "up__go", arguments: {} } };

it("the answer to a call becomes a stream while the upstream is slow", PATIENT, async () => {
  const answered = Promise.withResolvers<void>();
  const id = await serving(60_000, answered.promise);
  const response = await sendTo(worker, id, { message: call });
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  answered.resolve();
  expect(await response.text()).toContain('"id":7,"result":{"content":[]}');
});

it("a call ends when its time is over", PATIENT, async () => {
  const id = await serving(3500, new Promise(() => {}));
  const response = await sendTo(worker, id, { message: call, headers: { accept: "application/json" } });
  expect(await response.json()).toMatchObject({
    id: 7,
    error: { code: -32001, data: { server: "up", timeoutMs: 3500 } },
  });
});
