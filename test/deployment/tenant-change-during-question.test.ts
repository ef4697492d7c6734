// A call of era 2025 that waits for a person goes on under what the author's function says of its tenant when they have
// answered, and not under what it said when the call came.

import { expect, it } from "vitest";
import { createWorker, defineTool, type TenantDefinition } from "../../src/tenantry.ts";
import { peekPolicy } from "../../src/tenants/cache/policy-cache.ts";
import { readerOf, sendTo, sessionAt } from "../support/workerd/served-tenant.ts";
import { freshTenant } from "../support/workerd/tenant.ts";

const LEASE = { maxStalenessMs: 200 };

it.each<[string, TenantDefinition, readonly string[]]>([
  ["the tool is taken away", { ...LEASE, tools: ["see"] }, []],
  ["the tool is hidden by a setting", { ...LEASE, settings: { plan: "tin" } }, []],
  ["the tenant takes keys", { ...LEASE, mode: "key" }, []],
  ["nothing has changed", { ...LEASE, settings: { plan: "gold" } }, ["deleted"]],
])("a waiting call continues under the new definition: %s meanwhile", async (_what, later, expected) => {
  const ran: string[] = [];
  const rows = new Map<string, TenantDefinition>();
  const wipe = defineTool({
    name: "wipe",
    visible: ({ settings }) => (settings as { plan?: string }).plan === "gold",
    handler: async (_args, ctx) => {
      const { action } = await ctx.elicit("sure", { message: "All?", schema: { type: "object", properties: {} } });
      if (action === "accept") ran.push("deleted");
      return action;
    },
  });
  const see = defineTool({ name: "see", handler: () => "seen" });
  const worker = createWorker({ tools: [wipe, see], tenants: (id) => rows.get(id), hooks: { onError: () => {} } });
  const { id } = freshTenant();
  rows.set(id, { ...LEASE, settings: { plan: "gold" } });
  const headers = await sessionAt(worker, id, { elicitation: {} });
  const message = { jsonrpc: "2.0", id: "wiping", method: "tools/call", params: { name: "wipe" } };
  const stream = readerOf(await sendTo(worker, id, { message, headers }));
  const asked = await stream.until("elicitation/create");
  const question = /^data: (.*elicitation\/create.*)$/m.exec(asked)?.[1] ?? "{}";
  rows.set(id, later);
  await expect.poll(() => (peekPolicy(id)?.validUntil ?? 0) < Date.now(), { interval: 10 }).toBe(true);
  const answer = {
    jsonrpc: "2.0",
    id: (JSON.parse(question) as { id: string }).id,
    result: { action: "accept", content: {} },
  };
  // Where the tenant takes keys now, the answer is not even heard.
  const response = await sendTo(worker, id, { message: answer, headers });
  if (response.status === 202) await stream.until('"id":"wiping"');
  expect(ran).toEqual(expected);
  await stream.cancel();
});
