// One address gets only a share of the memory for answers that are not read.

import { expect, it } from "vitest";
import { createWorker, defineTool } from "../../../src/tenantry.ts";
import { MEMORY_BUDGET, MAX_RESERVED_BYTES } from "../../../src/tenants/cache/memory-budget.ts";
import { sendTo, servedTenant } from "../../support/workerd/served-tenant.ts";

const MIB = 1024 * 1024;
const worker = createWorker({
  tenants: {},
  tools: [
    defineTool({
      name: "large",
      input: { type: "object", properties: { mib: { type: "integer" } } },
      handler: ({ mib }) => "x".repeat(Number(mib) * MIB),
    }),
  ],
});

const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "t", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};
const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "large", arguments: { mib: 6 } } };
const WAYS = {
  "era 2025": { message: call, headers: {} },
  "era 2026": {
    message: { ...call, params: { ...call.params, _meta: META } },
    headers: { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "large" },
  },
  "a batch": { message: [call], headers: { "mcp-protocol-version": "2025-03-26" } },
};

it.each(Object.entries(WAYS))("in %s are bounded by address", async (_way, { message, headers }) => {
  const { id } = await servedTenant();
  // Who waits for the same lease is answered in the same moment, before anything of it is held.
  await (await sendTo(worker, id, { message: { jsonrpc: "2.0", id: 0, method: "ping" } })).text();
  const from = async (address: string) => {
    const response = await sendTo(worker, id, {
      message,
      headers: { ...headers, accept: "application/json", "cf-connecting-ip": address },
    });
    const reader = response.body?.getReader();
    const { value } = (await reader?.read()) ?? {};
    return { begin: new TextDecoder().decode(value).slice(0, 300), cancel: async () => reader?.cancel() };
  };
  const greedy = await Promise.all(Array.from({ length: 12 }, () => from("192.0.2.1")));
  const refused = greedy.filter(({ begin }) => begin.includes("use too much memory"));
  expect(refused.length).toBeGreaterThanOrEqual(6);
  expect(refused.length).toBeLessThan(12);
  expect(MEMORY_BUDGET.total).toBeLessThanOrEqual(MAX_RESERVED_BYTES / 2 + 7 * MIB);
  const other = await from("192.0.2.2");
  expect(other.begin).toContain("xxx");
  await Promise.all([...greedy, other].map(async ({ cancel }) => cancel()));
  await expect.poll(() => MEMORY_BUDGET.total).toBe(0);
  const again = await from("192.0.2.1");
  expect(again.begin).toContain("xxx");
  await again.cancel();
});

it("may be one that is larger than half of what there is", async () => {
  const { id } = await servedTenant({ mode: "open", limits: { resultBytes: 40 * MIB } });
  const params = { name: "large", arguments: { mib: 35 } };
  const text = await (await sendTo(worker, id, { message: { ...call, params } })).text();
  expect(text.length).toBeGreaterThan(35 * MIB);
});
