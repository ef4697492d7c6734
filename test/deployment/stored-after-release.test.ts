// A call of an app's user that waits for an answer while another release of the Worker is deployed: it goes on with what the new one
// has, or says why it cannot, and the author hears of what failed in their own functions.

import { listDurableObjectIds, runDurableObjectAlarm } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { expect, it } from "vitest";
import type { WorkerOptions } from "../../src/app/create-worker.ts";
import { createWorker, defineTool, type AppUser } from "../../src/tenantry.ts";
import { evictPolicy } from "../../src/tenants/cache/policy-cache.ts";
import { readerOf, sendTo, sessionAt } from "../support/workerd/served-tenant.ts";
import { rowsIn } from "../support/workerd/session.ts";
import { freshTenant } from "../support/workerd/tenant.ts";

type Options = WorkerOptions;

const MOUNT = "/released";
const faults: string[] = [];
const ran: string[] = [];

const pay = (name: string, more = {}) =>
  defineTool({
    name: "pay",
    ...more,
    handler: async (_args, ctx) => {
      const schema = { type: "object", properties: {} } as const;
      const { action } = await ctx.elicit("sure", { message: "Pay?", schema });
      ran.push(`${name} for ${ctx.principal.id}`);
      ctx.waitUntil(Promise.reject(new Error(`left by ${name}`)));
      return action;
    },
  });

function release(name: string, more: Partial<Options> = {}) {
  const user: AppUser = { id: "7", claims: { lead: true } };
  return createWorker({
    path: MOUNT,
    tools: [pay(name)],
    tenants: async () => ({}),
    authenticate: () => user,
    hooks: { onError: (error) => faults.push(String(error)) },
    ...more,
  });
}

const input = { type: "object", properties: { sum: { type: "number" } }, required: ["sum"] };
const noDatabase = () => {
  throw new Error("no database");
};

it.each<[string, Partial<Options>, { answer: string; runs: readonly string[]; logged: RegExp }]>([
  ["as it was", {}, { answer: "accept", runs: ["new for app 7"], logged: /^Error: left by new$/ }],
  ["without the tool", { tools: [] }, { answer: "Unknown tool: pay", runs: [], logged: /^$/ }],
  ["hiding it", { tools: [pay("new", { visible: () => false })] }, { answer: "Unknown", runs: [], logged: /^$/ }],
  ["with another schema", { tools: [pay("new", { input })] }, { answer: "Invalid arguments", runs: [], logged: /^$/ }],
  ["that knows no such tenant", { tenants: async () => undefined }, { answer: "Not found", runs: [], logged: /^$/ }],
  [
    "whose function in tenants fails",
    { tenants: noDatabase },
    {
      answer: "cannot be served now, and the call did not go on",
      runs: [],
      logged: /^(Error: tenants\("[^"]+"\): Error: no database,?)+$/,
    },
  ],
])(
  "is answered after a release %s",
  async (_what, more, { answer, runs, logged }) => {
    const { id } = freshTenant();
    [faults.length, ran.length] = [0, 0];
    const worker = release("old");
    const mounted: Pick<typeof worker, "fetch"> = {
      fetch: (request, ...rest) =>
        worker.fetch(new Request(request.url.replace("/mcp/", `${MOUNT}/mcp/`), request), ...rest),
    };
    const known = new Set((await listDurableObjectIds(env.SESSIONS_TO_LIST)).map(String));
    const headers = await sessionAt(mounted, id, { elicitation: {} });
    const message = { jsonrpc: "2.0", id: 7, method: "tools/call", params: { name: "pay", arguments: {} } };
    const stream = readerOf(await sendTo(mounted, id, { message, headers }));
    const asked = /q-[0-9a-f]{16}-1\.1/.exec(await stream.until("1.1"))?.[0] ?? "";
    const [object] = (await listDurableObjectIds(env.SESSIONS_TO_LIST)).filter((one) => !known.has(String(one)));
    const session = exports.SessionObject.get(object as DurableObjectId);
    await stream.cancel();
    const parked = async () => (await rowsIn(session, "SELECT parked FROM calls"))[0]?.["parked"];
    await expect.poll(parked, { timeout: 10_000 }).toBe(1);
    release("new", more);
    evictPolicy(id);
    await session.answer(asked, JSON.stringify({ result: { action: "accept", content: {} } }));
    const answerOf = async () => {
      await runDurableObjectAlarm(session);
      return (await rowsIn(session, "SELECT part FROM events WHERE seq > 1")).map(({ part }) => String(part)).join("");
    };
    await expect.poll(answerOf, { timeout: 20_000 }).toContain(answer);
    expect(ran).toEqual(runs);
    await expect.poll(() => faults.join()).toMatch(logged);
  },
  120_000,
);
