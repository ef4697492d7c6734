import { describe, expect, it } from "vitest";
import { createWorker, gateway } from "../../../src/tenantry.ts";
import { MEMORY_BUDGET } from "../../../src/tenants/cache/memory-budget.ts";
import { sendTo, servedTenant } from "../../support/workerd/served-tenant.ts";
import { upstreamAt } from "../../support/workerd/upstreams.ts";

const worker = createWorker({ tenants: {}, features: [gateway()] });
const MIB = 1024 * 1024;
const CALLS = 10;

/** Of era 2026, with one tool. */
function upstreamWith(answer: (id: number) => Response): string {
  return upstreamAt(async (request) => {
    const { id, method } = await request.json<{ id: number; method: string }>();
    if (method === "tools/call") return answer(id);
    const discovered = { supportedVersions: ["2026-07-28"], capabilities: { tools: {} } };
    const listed = { tools: [{ name: "go", inputSchema: { type: "object" } }] };
    return Response.json({ jsonrpc: "2.0", id, result: method === "tools/list" ? listed : discovered });
  });
}

async function tenantAt(answer: (id: number) => Response) {
  const up = { url: upstreamWith(answer), era: "2026" as const };
  const { id } = await servedTenant({ mode: "open", maxStalenessMs: 50, upstreams: { up } });
  const send = async (method: string, params: object = {}) => {
    const response = await sendTo(worker, id, { message: { jsonrpc: "2.0", id: 1, method, params } });
    return response.text();
  };
  await expect.poll(() => send("tools/list"), { timeout: 10_000 }).toContain("up__go");
  return () => send("tools/call", { name: "up__go", arguments: {} });
}

/** A body of which 5 MiB or so are there at once, and the end when the gate opens. */
function halfSaid(begin: string, end: string, type: string, gate: Promise<void>): Response {
  const bytes = new TextEncoder().encode(begin.padEnd(5 * MIB, "x"));
  let at = 0;
  const body = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      if (at < bytes.length) return controller.enqueue(bytes.subarray(at, (at += MIB)));
      await gate;
      controller.enqueue(new TextEncoder().encode(end));
      controller.close();
    },
  });
  return new Response(body, { headers: { "content-type": type } });
}

describe.each([
  ["application/json", "", ""],
  ["text/event-stream", "data: ", "\n\n"],
])("large answers of a tenant's upstreams in %s that do not end", (type, before, after) => {
  it("hold half of what an isolate holds at most, and others are served", { timeout: 60_000 }, async () => {
    let open = () => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const begin = (id: number) => `${before}{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"`;
    const call = await tenantAt((id) => halfSaid(begin(id), `"}]}}${after}`, type, gate));
    const large = await tenantAt((id) =>
      halfSaid(begin(id).padEnd(2 * MIB, "x"), `"}]}}${after}`, type, Promise.resolve()),
    );
    const answers = Array.from({ length: CALLS }, call);
    const refused = () => answers.length - waiting.size;
    const waiting = new Set(answers);
    for (const answer of answers) void answer.finally(() => waiting.delete(answer));
    await expect.poll(() => MEMORY_BUDGET.total, { timeout: 10_000 }).toBeGreaterThan(20 * MIB);
    await expect.poll(refused, { timeout: 10_000 }).toBeGreaterThanOrEqual(CALLS - 6);
    expect(MEMORY_BUDGET.total).toBeLessThanOrEqual(32 * MIB);
    expect(await large()).toContain('"type":"text"');
    open();
    const lines = await Promise.all(answers);
    const errors = lines.filter((text) => !text.includes("xxx"));
    expect(errors.length).toBeLessThan(CALLS);
    for (const text of errors) expect(text).toMatch(/"error":\{[^}]*(try again|busy)/i);
    await expect.poll(() => MEMORY_BUDGET.total, { timeout: 10_000 }).toBe(0);
  });
});
