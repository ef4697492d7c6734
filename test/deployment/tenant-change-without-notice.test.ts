// What an author's function says otherwise while a call waits for its client's answer, without a word to `changed`: the call goes on
// only with what holds when the answer comes.

import { listDurableObjectIds } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { expect, it } from "vitest";
import { createWorker, defineTool, type TenantDefinition } from "../../src/tenantry.ts";
import { peekPolicy } from "../../src/tenants/cache/policy-cache.ts";
import { readerOf, sendTo, sessionAt } from "../support/workerd/served-tenant.ts";
import { freshTenant } from "../support/workerd/tenant.ts";

const LEASE_MS = 100;

it.each<[string, TenantDefinition | undefined]>([
  ["without the tool", { maxStalenessMs: LEASE_MS, tools: [] }],
  ["with another mode", { maxStalenessMs: LEASE_MS, mode: "key" }],
  ["as no tenant", undefined],
])("a tenant that is %s when the answer comes stops the call", async (_how, later) => {
  const { id } = freshTenant();
  let row: TenantDefinition | undefined = { maxStalenessMs: LEASE_MS };
  let paid = 0;
  const pay = defineTool({
    name: "pay",
    handler: async (_args, ctx) => {
      const schema = { type: "object", properties: {} } as const;
      const { action } = await ctx.elicit("sure", { message: "Pay?", schema });
      paid += 1;
      return action;
    },
  });
  const mcp = createWorker({ tools: [pay], tenants: async () => row, hooks: { onError: () => {} } });
  const known = new Set((await listDurableObjectIds(env.SESSIONS_TO_LIST)).map(String));
  const headers = await sessionAt(mcp, id, { elicitation: {} });
  const message = { jsonrpc: "2.0", id: 7, method: "tools/call", params: { name: "pay", arguments: {} } };
  const stream = readerOf(await sendTo(mcp, id, { message, headers }));
  const asked = /q-[0-9a-f]{16}-1\.1/.exec(await stream.until("1.1"))?.[0] ?? "";
  const [object] = (await listDurableObjectIds(env.SESSIONS_TO_LIST)).filter((one) => !known.has(String(one)));
  row = later;
  await expect.poll(() => (peekPolicy(id)?.validUntil ?? 0) < Date.now(), { interval: 10 }).toBe(true);
  const session = exports.SessionObject.get(object as DurableObjectId);
  await session.answer(asked, JSON.stringify({ result: { action: "accept", content: {} } }));
  expect(await stream.until(`"id":7`)).toContain("error");
  expect(paid).toBe(0);
  await stream.cancel();
});
