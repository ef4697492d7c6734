// What an author's own code does with a tenant where nobody calls: a Worker with `scheduled`, `queue` and a route of its own, on
// real objects. It has no more rights there than callers have, and its names are nobody else's.

import {
  createExecutionContext,
  createMessageBatch,
  createScheduledController,
  getQueueResult,
  waitOnExecutionContext,
} from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { NamedCaller } from "../../src/endpoint/outside.ts";
import {
  createWorker,
  definePrompt,
  defineResource,
  defineTool,
  TenantError,
  type ToolResult,
  type CallEvent,
  type Env,
} from "../../src/tenantry.ts";
import { policyStore } from "../../src/tenants/object/policy-store.ts";
import { createRpcClient } from "../../src/tenants/object/store.ts";
import { readerOf, sendTo, servedTenant, sessionAt } from "../support/workerd/served-tenant.ts";
import { keeperOf } from "../support/workerd/object-calls.ts";

const NIGHTLY: NamedCaller = { id: "nightly" };
const ANN = { name: "ann" };

const ended: [event: CallEvent, end: string][] = [];
const faults: unknown[] = [];

const mcp = createWorker({
  tenants: { coded: {}, narrow: { tools: ["add"], limits: { resourceBytes: 3, resources: 1 } } },
  tools: [
    defineTool({
      name: "add",
      description: "a",
      input: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"] },
      output: { type: "object", properties: { sum: { type: "number" } }, required: ["sum"] },
      handler: ({ a, b }) => ({ structuredContent: { sum: a + b } }),
    }),
    defineTool({
      name: "who",
      description: "w",
      handler: (_args, ctx) => JSON.stringify([ctx.tenant, ctx.principal]),
    }),
    defineTool({ name: "fail", description: "f", handler: () => ({ content: "no", isError: true }) }),
    defineTool({
      name: "ask",
      description: "a",
      handler: async (_args, ctx) => {
        ctx.progress(1, 2);
        ctx.log("info", "still here");
        const { action } = await ctx.elicit("sure", { message: "Sure?", schema: { type: "object" } });
        return action;
      },
    }),
    defineTool({ name: "long", description: "l", handler: () => "x".repeat(2000) }),
    defineTool({ name: "slow", description: "s", timeoutMs: 20, handler: () => new Promise<string>(() => {}) }),
    defineTool({
      name: "keep",
      description: "k",
      handler: async (_args, ctx) => (await ctx.resources.write({ uri: "kept:by-tool", name: "k", text: "t" })).uri,
    }),
  ],
  prompts: [definePrompt({ name: "hello", handler: () => "hello" })],
  resources: [defineResource({ uri: "fixed:one", name: "one", text: "one" })],
  hooks: {
    beforeCall: ({ name, principal }) => (name === "add" && principal.id === "worker bad" ? "not you" : undefined),
    afterCall: (event, end) => {
      ended.push([event, end]);
    },
    onError: (error) => faults.push(error),
  },
});

/** A Worker as an author writes it. */
const worker = {
  async scheduled(_controller: ScheduledController, bindings: Env) {
    await mcp.tenant(bindings, "coded").resources.write({ uri: "kept:cron", name: "cron", text: "from cron" });
  },
  async queue(batch: MessageBatch<{ a: number }>, bindings: Env) {
    for (const message of batch.messages) {
      const args = { a: message.body.a, b: 1 };
      const { structuredContent } = await mcp.tenant(bindings, "coded").callTool("add", args, { as: { id: "queue" } });
      await mcp
        .tenant(bindings, "coded")
        .resources.write({ uri: `kept:${message.id}`, name: "sum", text: JSON.stringify(structuredContent) });
      message.ack();
    }
  },
  async fetch(request: Request, bindings: Env, ctx: ExecutionContext) {
    if (new URL(request.url).pathname !== "/hook") return mcp.fetch(request, bindings, ctx);
    await mcp.tenant(bindings, "coded").announce({ tools: true, updated: ["fixed:one"] });
    return new Response("told");
  },
};

const outside = (id = "coded") => mcp.tenant(env, id);
const ERAS = [
  ["2025", "2025-11-25"],
  ["2026", "2026-07-28"],
] as const;

const textIn = ([first]: ToolResult["content"]) => (first?.type === "text" ? first.text : "");

async function refused(doing: Promise<unknown>): Promise<TenantError> {
  const error: unknown = await doing.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(TenantError);
  return error as TenantError;
}

describe("a Worker with handlers of its own", () => {
  it("writes from cron what callers read", async () => {
    const ctx = createExecutionContext();
    await worker.scheduled(createScheduledController({ scheduledTime: new Date(), cron: "0 * * * *" }), env);
    await waitOnExecutionContext(ctx);
    const message = { jsonrpc: "2.0", id: 1, method: "resources/read", params: { uri: "kept:cron" } };
    expect(await (await sendTo(mcp, "coded", { message })).json()).toMatchObject({
      result: { contents: [{ text: "from cron" }] },
    });
  });

  it("calls a tool for a message of a queue", async () => {
    const sent = [{ id: "m1", timestamp: new Date(), attempts: 1, body: { a: 4 } }];
    const batch = createMessageBatch<{ a: number }>("orders", sent);
    const ctx = createExecutionContext();
    await worker.queue(batch, env);
    expect((await getQueueResult(batch, ctx)).explicitAcks).toEqual(["m1"]);
    expect(await outside().resources.read("kept:m1")).toMatchObject({ text: '{"sum":5}' });
  });

  it.each(ERAS)("announces from a webhook to who listens in era %s", async (era, version) => {
    const headers =
      era === "2025"
        ? { "mcp-protocol-version": version, ...(await sessionAt(mcp, "coded")) }
        : { "mcp-protocol-version": version, "mcp-method": "subscriptions/listen" };
    const meta = {
      "io.modelcontextprotocol/protocolVersion": version,
      "io.modelcontextprotocol/clientInfo": { name: "t", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const message = {
      jsonrpc: "2.0",
      id: 7,
      method: "subscriptions/listen",
      params: { notifications: { toolsListChanged: true }, _meta: meta },
    };
    const stream = await sendTo(mcp, "coded", era === "2025" ? { method: "GET", headers } : { headers, message });
    const reader = readerOf(stream);
    if (era === "2026") await reader.until("acknowledged");
    const hook = new Request("https://mcp.example.com/hook", { method: "POST" });
    expect(await (await worker.fetch(hook, env, createExecutionContext())).text()).toBe("told");
    expect(await reader.until("tools/list_changed")).toContain("notifications/tools/list_changed");
    await reader.cancel();
  });
});

describe("a call outside of a request", () => {
  it("gives the result that a request would get, as the principal that it names", async () => {
    const as = { id: "nightly", subject: "cron 7", scopes: [] };
    expect(await outside().callTool("add", { a: 1, b: 2 }, { as: NIGHTLY })).toEqual({
      content: [{ type: "text", text: '{"sum":3}' }],
      structuredContent: { sum: 3 },
    });
    const { content } = await outside().callTool("who", undefined, { as: { ...NIGHTLY, subject: "cron 7" } });
    expect(JSON.parse(textIn(content))).toEqual([
      { id: "coded", profile: null },
      { kind: "worker", id: "worker nightly", subject: "cron 7", claims: {} },
    ]);
    // Scopes that grant nothing show nothing.
    expect(await refused(outside().callTool("add", { a: 1, b: 2 }, { as }))).toMatchObject({
      code: "invalidParams",
      message: "Unknown tool: add",
    });
  });

  it("reads resources and gets prompts", async () => {
    expect(await outside().readResource("fixed:one", { as: NIGHTLY })).toMatchObject({ contents: [{ text: "one" }] });
    expect(await outside().getPrompt("hello", {}, { as: NIGHTLY })).toMatchObject({
      messages: [{ role: "user", content: { type: "text", text: "hello" } }],
    });
    expect(await refused(outside().readResource("fixed:two", { as: NIGHTLY }))).toMatchObject({
      code: "resourceNotFound",
    });
  });

  it("returns an error of a tool as a result, invalid arguments too", async () => {
    expect(await outside().callTool("fail", {}, { as: NIGHTLY })).toMatchObject({ isError: true });
    const { isError, content } = await outside().callTool("add", { a: "x" }, { as: NIGHTLY });
    expect([isError, textIn(content)]).toEqual([true, expect.stringContaining("b")]);
  });

  it("drops progress and logs, and refuses questions", async () => {
    const { isError, content } = await outside().callTool("ask", {}, { as: NIGHTLY });
    expect([isError, textIn(content)]).toEqual([true, expect.stringContaining("elicitation")]);
  });

  it("has the time limit of its tool, hooks around it, and its own name in what they hear", async () => {
    expect(await refused(outside().callTool("slow", {}, { as: NIGHTLY }))).toMatchObject({
      code: "timeout",
      data: { timeoutMs: 20 },
    });
    expect(await outside().callTool("add", { a: 1, b: 2 }, { as: { id: "bad" } })).toMatchObject({
      isError: true,
      content: [{ text: "not you" }],
    });
    expect(
      ended.some(([{ principal, name }, end]) => `${principal.id} ${name} ${end}` === "worker nightly slow timeout"),
    ).toBe(true);
  });

  it.each([
    ["no name", { id: "" }],
    ["a name with a line in it", { id: "a\nb" }],
    ["a name that is long", { id: "x".repeat(201) }],
    ["a scope that is two", { id: "a", scopes: ["read write"] }],
    ["a scope with a brace", { id: "a", scopes: ["{"] }],
    ["a name with a blank", { id: "every night" }],
  ])("refuses %s", async (_what, as) => {
    await expect(outside().callTool("add", { a: 1, b: 2 }, { as })).rejects.toThrow(TypeError);
  });

  it("hands on no more than JSON says", async () => {
    const args = { a: 1, b: { toJSON: () => 4 } } as never;
    expect(await outside().callTool("add", args, { as: NIGHTLY })).toMatchObject({ structuredContent: { sum: 5 } });
  });
});

describe("a call that a tenant does not allow", () => {
  it("is refused outside of a call, too", async () => {
    const unknown = await refused(mcp.tenant(env, "nobody-here").announce({ tools: true }));
    expect([unknown.code, unknown.message]).toEqual(["unknownTenant", 'there is no tenant "nobody-here"']);
    expect(await refused(mcp.tenant(env, "NO/name").callTool("add", {}, { as: NIGHTLY }))).toMatchObject({
      code: "unknownTenant",
    });
    expect(await refused(outside("narrow").callTool("who", {}, { as: NIGHTLY }))).toMatchObject({
      code: "invalidParams",
    });
    expect(
      await refused(outside("narrow").callTool("add", { a: 1, b: 2 }, { as: { ...NIGHTLY, profile: "none" } })),
    ).toMatchObject({ code: "unknownTenant" });
    await expect(outside("narrow").resources.write({ uri: "a:b", name: "n", text: "long" })).rejects.toThrow("bytes");
    await outside("narrow").resources.write({ uri: "a:b", name: "n", text: "abc" });
    await expect(outside("narrow").resources.write({ uri: "a:c", name: "n", text: "abc" })).rejects.toThrow();
    await expect(outside().announce({ updated: ["no uri"] })).rejects.toThrow(TypeError);
    await expect(outside().resources.list({ cursor: "xx" })).rejects.toThrow("cursor");
  });

  it("is refused in a tenant that takes keys only where its document says so, and never for want of a key", async () => {
    const scopes = { adder: { tools: ["add"] } };
    const profiles = { small: { tools: { allow: ["who"] } } };
    const { id } = await servedTenant({ mode: "key", scopes, profiles, maxStalenessMs: 50 });
    const args = { a: 1, b: 2 };
    const sum = { structuredContent: { sum: 3 } };
    expect(await mcp.tenant(env, id).callTool("add", args, { as: NIGHTLY })).toMatchObject(sum);
    expect(await mcp.tenant(env, id).callTool("add", args, { as: { ...NIGHTLY, scopes: ["adder"] } })).toMatchObject(
      sum,
    );
    for (const as of [
      { ...NIGHTLY, scopes: ["other"] },
      { ...NIGHTLY, profile: "small" },
    ]) {
      expect(await refused(mcp.tenant(env, id).callTool("add", args, { as }))).toMatchObject({ code: "invalidParams" });
    }
  });

  it("limits calls by the name that they are made under, and counts the day", async () => {
    const { id } = await servedTenant({ mode: "open", limits: { toolCalls: 1, dailyToolCalls: 3, exact: true } });
    const call = (name: string) => mcp.tenant(env, id).callTool("add", { a: 1, b: 2 }, { as: { id: name } });
    await call("one");
    const limited = await refused(call("one"));
    expect(limited).toMatchObject({ code: "limited", data: { limit: "toolCalls" } });
    expect(limited.retryAfter).toBeGreaterThan(0);
    await call("two");
    await call("three");
    expect(await refused(call("four"))).toMatchObject({ code: "limited", data: { limit: "dailyToolCalls" } });
  });

  it.each([
    ["the tenant's", { limits: { bodyBytes: 1024 } }, "x".repeat(1024)],
    ["the tenant's, in characters of more bytes than one", { limits: { bodyBytes: 1024 } }, "é".repeat(500)],
    ["the Worker's", {}, "x".repeat(4 * 1024 * 1024)],
  ])("is refused what is longer than %s bodyBytes", async (_whose, document, text) => {
    const { id } = await servedTenant({ mode: "open", ...document });
    const at = mcp.tenant(env, id);
    expect(await refused(at.callTool("who", { text }, { as: NIGHTLY }))).toMatchObject({
      code: "tooLarge",
      message: expect.stringContaining("at most"),
    });
    expect(await refused(at.getPrompt("hello", { text }, { as: NIGHTLY }))).toMatchObject({ code: "tooLarge" });
    await at.callTool("who", { text: "x".repeat(500) }, { as: NIGHTLY });
  });

  it("is refused what nests deeper than a body may", async () => {
    const deep = JSON.parse(`${'{"a":'.repeat(1000)}1${"}".repeat(1000)}`) as never;
    expect(await refused(outside().callTool("who", { deep }, { as: NIGHTLY }))).toMatchObject({
      code: "invalidRequest",
    });
  });

  it.each([
    ["tenantMessages", "who"],
    ["principalMessages", "who"],
    ["concurrentCalls", "slow"],
    ["principalDailyToolCalls", "who"],
  ] as const)("meets %s as a request does", async (limit, tool) => {
    const { id } = await servedTenant({ mode: "open", limits: { [limit]: 1, exact: true } });
    // Under a lease neither waits for the other's.
    await mcp.tenant(env, id).resources.list();
    const calls = await Promise.allSettled([1, 2].map(() => mcp.tenant(env, id).callTool(tool, {}, { as: NIGHTLY })));
    const messages = calls.flatMap((one) => (one.status === "rejected" ? [(one.reason as TenantError).data] : []));
    expect(messages).toContainEqual(expect.objectContaining({ limit }));
  });

  it("meets resultBytes as a request does, and storedBytes where it writes", async () => {
    const { id } = await servedTenant({ mode: "open", limits: { resultBytes: 1024, storedBytes: 10 } });
    const at = mcp.tenant(env, id);
    expect(await refused(at.callTool("long", {}, { as: NIGHTLY }))).toMatchObject({ data: { limit: "resultBytes" } });
    await expect(at.resources.write({ uri: "a:b", name: "n", text: "longer than ten" })).rejects.toThrow("10");
  });

  it("counts no message for what a handler may do, too: announcing, reading and writing", async () => {
    const { id } = await servedTenant({ mode: "open", limits: { tenantMessages: 1, principalMessages: 1 } });
    const at = mcp.tenant(env, id);
    for (let times = 0; times < 3; times += 1) {
      await at.announce({ tools: true });
      await at.resources.list();
    }
    await at.callTool("who", {}, { as: NIGHTLY });
  });

  it.each([
    ["the tenant", { kind: "tenant", name: "" }, true],
    ["the principal", { kind: "principal", name: "worker nightly" }, false],
    ["the tool", { kind: "tool", name: "add" }, false],
  ] as const)("ends when %s is suspended", async (_what, suspension, all) => {
    const tenant = await servedTenant({ mode: "open", maxStalenessMs: 50 });
    const at = mcp.tenant(env, tenant.id);
    await at.callTool("add", { a: 1, b: 2 }, { as: NIGHTLY });
    const done = await createRpcClient(tenant.stub, policyStore).suspend({ ...suspension, note: "Not now" }, ANN);
    const effectiveAt = Date.now() + (done as { leftMs: number }).leftMs;
    await expect.poll(() => Date.now(), { interval: 10 }).toBeGreaterThan(effectiveAt);
    const why = await refused(at.callTool("add", { a: 1, b: 2 }, { as: NIGHTLY }));
    expect(why.message).toContain("Not now");
    const written = at.resources.write({ uri: "a:b", name: "n", text: "t" });
    if (all) expect(await refused(written)).toMatchObject({ code: "suspended" });
    else await written;
  });

  it("is a retryable error while the tenant's object is away", async () => {
    const { id } = await servedTenant();
    const away = { ...env, TenantObject: exports.TenantObject } as Env;
    Object.assign(away, { TenantObject: { getByName: () => keeperOf(() => Promise.reject(new Error("away"))) } });
    expect(await refused(mcp.tenant(away, id).announce({ tools: true }))).toMatchObject({
      code: "unavailable",
      retryAfter: expect.any(Number) as number,
    });
    expect(faults.map(String)).toContain("Error: away");
  });

  it("does not begin in a Worker that lacks a binding", () => {
    expect(() => mcp.tenant({ ...env, BODIES: undefined } as never, "coded")).toThrow("no KV binding BODIES");
  });
});

it("a caller's key or token can have no name of the Worker's own", async () => {
  const tenant = await servedTenant({ mode: "key", maxStalenessMs: 50 });
  const headers = { authorization: "Bearer worker nightly" };
  const message = { jsonrpc: "2.0", id: 1, method: "ping" };
  expect((await sendTo(mcp, tenant.id, { message, headers })).status).toBe(401);
});
