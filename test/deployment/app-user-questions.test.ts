// A call of era 2025 that waits for its user: nobody else of the same app answers, cancels, ends or sees it, whichever ids they
// bring; and nor does the user themselves once the app says otherwise.

import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { createWorker, defineTool, type Env } from "../../src/tenantry.ts";
import { readerOf, sendTo, servedTenant, sessionAt } from "../support/workerd/served-tenant.ts";

const pay = defineTool({
  name: "pay",
  handler: async (_args, ctx) => {
    const { action } = await ctx.elicit("sure", { message: "Pay?", schema: { type: "object", properties: {} } });
    return `${ctx.principal.id} said ${action}`;
  },
});
let tenant = "";
/** What the app says of who has which token, and may say otherwise later. */
const users = new Map<string, unknown>();
const worker = createWorker({
  tools: [pay],
  tenants: {},
  authenticate: (request) => users.get(request.headers.get("x-token") ?? "") as never,
  hooks: { onError: () => {} },
});

async function ask() {
  ({ id: tenant } = await servedTenant({ mode: "key", maxStalenessMs: 50 }));
  users.clear();
  for (const id of ["ada", "bob"]) users.set(id, { tenant, id });
  const begin = async (token: string) => {
    const as = {
      fetch: (request: Request, at: Env, ctx: ExecutionContext) => {
        request.headers.set("x-token", token);
        return worker.fetch(request, at, ctx);
      },
    };
    return { as, session: await sessionAt(as, tenant, { elicitation: {} }) };
  };
  const [ada, bob] = [await begin("ada"), await begin("bob")];
  const message = { jsonrpc: "2.0", id: "paying", method: "tools/call", params: { name: "pay" } };
  const stream = readerOf(await sendTo(ada.as, tenant, { message, headers: ada.session }));
  const text = await stream.until("elicitation/create");
  const question = (JSON.parse(/^data: (.*elicitation\/create.*)$/m.exec(text)?.[1] ?? "{}") as { id: string }).id;
  const [, eventId = ""] = /^id: (.+)$/m.exec(text) ?? [];
  return { ada, bob, stream, question, eventId };
}

const answerTo = (id: string, action = "accept") => ({ jsonrpc: "2.0", id, result: { action, content: {} } });
const cancel = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "paying" } };

it("another user reaches nothing of a call that waits", async () => {
  const { ada, bob, stream, question, eventId } = await ask();
  expect(eventId).not.toBe("");
  for (const message of [answerTo(question), cancel]) {
    expect((await sendTo(bob.as, tenant, { message, headers: bob.session })).status).toBe(202);
    expect((await sendTo(bob.as, tenant, { message, headers: ada.session })).status).toBe(404);
    expect((await sendTo(worker, tenant, { message, headers: ada.session })).status).toBe(401);
  }
  for (const session of [bob.session, ada.session]) {
    const seen = await sendTo(bob.as, tenant, { method: "GET", headers: { ...session, "last-event-id": eventId } });
    expect(seen.status).toBeGreaterThanOrEqual(400);
  }
  const ended = new Request(`https://mcp.example.com/mcp/${tenant}`, { method: "DELETE", headers: ada.session });
  expect((await bob.as.fetch(ended, env, createExecutionContext())).status).toBe(404);
  await sendTo(ada.as, tenant, { message: answerTo(question, "decline"), headers: ada.session });
  expect(await stream.until('"id":"paying"')).toContain("app ada said decline");
  await stream.cancel();
});

it.each<[string, (ada: object) => unknown, number]>([
  ["nobody", () => undefined, 401],
  ["refused", () => new Response("no", { status: 403 }), 403],
  ["of another tenant", (ada) => ({ ...ada, tenant: "elsewhere" }), 404],
  ["over", (ada) => ({ ...ada, expires: Date.now() - 1 }), 401],
  ["another with the same subject", (ada) => ({ ...ada, id: "eve", subject: "ada" }), 404],
])("a user whom the app resolves to %s meanwhile cannot answer", async (_what, later, status) => {
  const { ada, stream, question } = await ask();
  users.set("ada", later({ tenant, id: "ada" }));
  expect((await sendTo(ada.as, tenant, { message: answerTo(question), headers: ada.session })).status).toBe(status);
  users.set("ada", { tenant, id: "ada" });
  await sendTo(ada.as, tenant, { message: answerTo(question, "decline"), headers: ada.session });
  expect(await stream.until('"id":"paying"')).toContain("app ada said decline");
  await stream.cancel();
});
