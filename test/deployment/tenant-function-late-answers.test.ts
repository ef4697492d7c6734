// What an author's function says too late, or otherwise than before: an answer from before a lease never replaces what was said
// under it, functions in a definition are those of the last answer, and a clock that was set back has it asked anew.

import { expect, it, onTestFinished, vi } from "vitest";
import { createWorker, defineTool, type Around, type TenantDefinition } from "../../src/tenantry.ts";
import { sendTo } from "../support/workerd/served-tenant.ts";
import { freshTenant } from "../support/workerd/tenant.ts";
import { endLease, stopClock } from "./lease-clock.ts";

const LEASE_MS = 300;
const tools = ["see", "write"].map((name) => defineTool({ name, handler: () => name }));

type Mcp = ReturnType<typeof createWorker>;

async function ask(mcp: Mcp, id: string, method: string, params: object = {}) {
  const answered = await sendTo(mcp, id, { message: { jsonrpc: "2.0", id: 1, method, params } });
  return { status: answered.status, text: await answered.text() };
}

const listed = async (mcp: Mcp, id: string) =>
  [...(await ask(mcp, id, "tools/list")).text.matchAll(/"name":"(\w+)"/g)].map(([, name]) => name);

it("an answer for an ended lease does not replace a later one", async () => {
  stopClock();
  const { id } = freshTenant();
  let row: TenantDefinition = { maxStalenessMs: LEASE_MS, tools: ["see"] };
  let gate: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined;
  let asks = 0;
  const mcp = createWorker({
    tools,
    tenants: async () => {
      const read = row;
      const [mine, isHeld] = [gate, (asks += 1) === 3];
      if (isHeld) await mine?.promise;
      return read;
    },
  });
  // Whether there is such a tenant, and what it is under the lease that it then got.
  expect(await listed(mcp, id)).toEqual(["see"]);
  endLease(id);
  gate = Promise.withResolvers();
  const slow = listed(mcp, id);
  await expect.poll(() => asks).toBe(3);
  row = { maxStalenessMs: LEASE_MS, tools: ["write"] };
  endLease(id);
  expect(await listed(mcp, id)).toEqual(["write"]);
  gate.resolve();
  expect(await slow).toEqual(["write"]);
  expect(await listed(mcp, id)).toEqual(["write"]);
});

it("the `around` of the function's last answer runs", async () => {
  stopClock();
  const { id } = freshTenant();
  let plan: string | undefined = "free";
  const said = (text: string): Around => {
    const result = { content: [{ type: "text", text }] };
    return async (_call, next) => ({ ...(await next()), kind: "complete", result });
  };
  const mcp = createWorker({
    tools,
    tenants: async () => ({ maxStalenessMs: 50, ...(plan !== undefined && { around: said(plan) }) }),
  });
  const called = async () => (await ask(mcp, id, "tools/call", { name: "see" })).text;
  expect(await called()).toContain('"free"');
  plan = "paid";
  endLease(id);
  expect(await called()).toContain('"paid"');
  plan = undefined;
  endLease(id);
  expect(await called()).toContain('"see"');
});

it("a definition that is no JSON is refused from the first request on", async () => {
  const { id } = freshTenant();
  const faults: unknown[] = [];
  const mcp = createWorker({
    tools,
    tenants: async () => ({ maxStalenessMs: 50, config: { see: { most: 1n } } }),
    hooks: { onError: (error) => faults.push(error) },
  });
  expect((await ask(mcp, id, "tools/list")).status).toBe(503);
  expect((await ask(mcp, id, "tools/list")).status).toBe(503);
  expect(String(faults[0])).toContain("BigInt");
});

it("a clock that is set back does not make the last answer valid for longer than a lease", async () => {
  const { id } = freshTenant();
  const state: { row: TenantDefinition | undefined } = { row: { maxStalenessMs: LEASE_MS, tools: ["see"] } };
  const mcp = createWorker({ tools, tenants: async () => state.row });
  const now = Date.now.bind(Date);
  const clock = vi.spyOn(Date, "now").mockImplementation(() => now() + 3_600_000);
  onTestFinished(() => clock.mockRestore());
  expect(await listed(mcp, id)).toEqual(["see"]);
  clock.mockRestore();
  state.row = undefined;
  expect((await ask(mcp, id, "tools/list")).status).toBe(401);
});
