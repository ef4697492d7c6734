// What a Worker in development says of code before a question: in era 2026 it runs again with each answer.

import { beforeEach, describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { createWorker, defineTool, type Context } from "../../src/tenantry.ts";
import { sendTo, servedTenant } from "../support/workerd/served-tenant.ts";

const warn = vi.spyOn(console, "error").mockImplementation(() => {});
beforeEach(() => {
  warn.mockClear();
});
const sure = { message: "Sure?", schema: z.object({ yes: z.boolean() }) };

/** Calls a tool until it asks nothing more; every form is accepted. */
async function called(handler: (ctx: Context<{ BODIES: KVNamespace; LIMIT: string }>) => Promise<string>) {
  const name = `t${crypto.randomUUID()}`;
  const tool = defineTool({ name, handler: (_args, ctx) => handler(ctx as never) });
  const worker = createWorker({ tenants: {}, tools: [tool] });
  const { id } = await servedTenant();
  const standard = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": name };
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } },
  };
  for (let more = {}; ;) {
    const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: {}, _meta, ...more } };
    const answer = await (await sendTo(worker, id, { message, headers: standard })).text();
    const { result } = JSON.parse(/^data: (.*)$/m.exec(answer)?.[1] ?? answer) as {
      readonly result: { readonly requestState?: string; readonly inputRequests?: object; readonly content?: object };
    };
    if (result.requestState === undefined) return { name, result };
    const requests = Object.keys(result.inputRequests ?? {});
    const accepted = requests.map((one) => [one, { action: "accept", content: { yes: true } }]);
    more = { requestState: result.requestState, inputResponses: Object.fromEntries(accepted) };
  }
}

describe("a Worker in development warns", () => {
  it.each<[what: string, does: (ctx: Context<{ BODIES: KVNamespace }>) => unknown]>([
    ["ctx.env.BODIES", (ctx) => ctx.env.BODIES.get("none")],
    ["ctx.resources.write", (ctx) => ctx.resources.write({ uri: "note:again", name: "n", text: "" })],
    ["ctx.announce", (ctx) => ctx.announce({ tools: true })],
    ["ctx.waitUntil", (ctx) => ctx.waitUntil(Promise.resolve())],
    ["ctx.fetch of https://127.0.0.1/", (ctx) => ctx.fetch("https://127.0.0.1/").catch(() => {})],
  ])("once of %s before a question, with the line", async (what, does) => {
    const { name, result } = await called(async (ctx) => {
      await does(ctx);
      await ctx.elicit("sure", sure);
      await ctx.elicit("really", sure);
      return "done";
    });
    expect(result.content).toMatchObject([{ text: "done" }]);
    expect(warn).toHaveBeenCalledTimes(1);
    const [[text = ""] = []] = warn.mock.calls as string[][];
    expect(text).toContain(`"${name}" repeated this after a question was answered: ${what}. `);
    expect(text).toContain("ctx.memo or ctx.once");
    expect(text).toMatch(/\n +at .*replay-warnings\.test\.ts:\d+/);
  });

  it("about code before the first `once`, which runs again too", async () => {
    await called(async (ctx) => {
      await ctx.announce({ tools: true });
      return ctx.once("pay", () => "paid");
    });
    expect(warn).toHaveBeenCalledTimes(1);
  });

  it("not about stored results, pure code, or code after the question", async () => {
    const { result } = await called(async (ctx) => {
      const limit = ctx.env.LIMIT + ctx.tenant.id;
      await ctx.memo("read", () => ctx.env.BODIES.get("none"));
      await ctx.once("told", () => ctx.announce({ tools: true }).then(() => limit));
      await ctx.resources.get("note:none");
      await ctx.elicit("sure", sure);
      await ctx.env.BODIES.get("none");
      await ctx.announce({ prompts: true });
      return "done";
    });
    expect(result.content).toMatchObject([{ text: "done" }]);
    expect(warn).not.toHaveBeenCalled();
  });
});
