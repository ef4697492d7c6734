// `tenantry/testing`: what a test learns of a tool, a prompt, a resource and a template, in both eras, without a Worker.

import { describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { defineResource, defineTemplate } from "../../src/handlers/resource.ts";
import { definePrompt } from "../../src/handlers/prompt.ts";
import { defineTool } from "../../src/handlers/tool.ts";
import type { Context } from "../../src/handlers/context.ts";
import { UserError } from "../../src/protocol/user-error.ts";
import { listFrom, readFrom, runPrompt, runTool } from "../../src/testing/testing.ts";

describe.each(["2025", "2026"] as const)("in era %s", (era) => {
  it("a tool gives its result, and what it told on the way", async () => {
    const add = defineTool({
      name: "add",
      input: z.object({ a: z.number(), b: z.number().default(1) }),
      output: z.object({ sum: z.number() }),
      handler: ({ a, b }, ctx) => {
        ctx.progress(1, 2, "half");
        ctx.log("debug", { a }, "adder");
        return { structuredContent: { sum: a + b } };
      },
    });
    const ran = await runTool(add, { a: 2 }, { era });
    expect(ran).toMatchObject({ structured: { sum: 3 }, text: '{"sum":3}', isError: false, rounds: 1, errors: [] });
    expect(ran.error).toBeUndefined();
    expect(ran.progress).toEqual([{ progress: 1, total: 2, message: "half" }]);
    expect(ran.logs).toEqual([{ level: "debug", data: { a: 2 }, logger: "adder" }]);
    expect((await runTool(add, { a: "2" }, { era })).text).toContain("a:");
  });

  it("arguments that a client repeats in headers are repeated", async () => {
    const input = { type: "object", properties: { city: { type: "string", "x-mcp-header": "City" } } } as const;
    const weather = defineTool({ name: "weather", input, handler: ({ city }) => `fine in ${String(city)}` });
    expect((await runTool(weather, { city: "Zürich" }, { era })).text).toBe("fine in Zürich");
  });

  it("a handler has what a Worker would give it", async () => {
    const look = defineTool({
      name: "look",
      handler: async (_args, ctx) => ({
        structuredContent: {
          tenant: ctx.tenant.id,
          who: ctx.principal.subject,
          config: ctx.config,
          env: ctx.env,
          secret: await ctx.secret("token"),
          stored: (await ctx.resources.read("note:a"))?.text,
        },
      }),
    });
    const ran = await runTool(
      look,
      {},
      {
        era,
        tenant: "acme",
        principal: { subject: "ann" },
        config: { perKg: 2 },
        env: { NAME: "x" },
        secrets: { token: "s3" },
        resources: [{ uri: "note:a", name: "a", text: "stored" }],
      },
    );
    expect(ran.structured).toEqual({
      tenant: "acme",
      who: "ann",
      config: { perKg: 2 },
      env: { NAME: "x" },
      secret: "s3",
      stored: "stored",
    });
  });

  it("questions are answered by the test, in short or as a client would", async () => {
    const book = defineTool({
      name: "book",
      handler: async (_args, ctx) => {
        const seat = await ctx.elicit("seat", { message: "Which?", schema: z.object({ seat: z.string() }) });
        const text = await ctx.sample("text", { messages: [], maxTokens: 5 });
        const roots = await ctx.roots();
        const page = await ctx.elicit("page", { message: "Look", url: "https://example.com/" });
        return JSON.stringify([seat, text["content"], roots, page]);
      },
    });
    const ran = await runTool(
      book,
      {},
      {
        era,
        answers: {
          seat: { seat: "1A" },
          text: "a poem",
          roots: [{ uri: "file:///a" }],
          page: () => ({ action: "decline" }),
        },
      },
    );
    expect(JSON.parse(ran.text)).toEqual([
      { action: "accept", content: { seat: "1A" } },
      { type: "text", text: "a poem" },
      [{ uri: "file:///a" }],
      { action: "decline" },
    ]);
    expect(ran.questions.map(({ name, method }) => [name, method])).toEqual([
      ["seat", "elicitation/create"],
      ["text", "sampling/createMessage"],
      ["roots", "roots/list"],
      ["page", "elicitation/create"],
    ]);
    expect(ran.rounds).toBe(era === "2026" ? 5 : 1);
  });

  it("a question without an answer, and an answer that does not fit, are errors of the test", async () => {
    const ask = defineTool({
      name: "ask",
      handler: async (_args, ctx) =>
        JSON.stringify(await ctx.elicit("age", { message: "?", schema: z.object({ age: z.int() }) })),
    });
    await expect(runTool(ask, {}, { era })).rejects.toThrow(
      'the handler asks "age", but the test has no answer to it: add one to the option answers',
    );
    await expect(runTool(ask, {}, { era, answers: { Age: { age: 7 } } })).rejects.toThrow('answers; not used: "Age"');
    await expect(runTool(ask, {}, { era, answers: { age: { age: "old" } } })).rejects.toThrow(
      'the answer to "age" does not match the question: age: expected integer, received string',
    );
    const cannot = await runTool(ask, {}, { era, client: { capabilities: {} } });
    expect(cannot.error?.code ?? cannot.isError).toBe(era === "2026" ? -32021 : true);
  });

  it.each([
    [undefined, 'ctx.elicit "sure" must be an object, not undefined'],
    [{}, 'ctx.elicit "sure": message must be a string, not undefined'],
    [{ message: "?" }, 'ctx.elicit "sure": needs schema for a form, or url'],
    [{ message: "?", requestedSchema: {} }, 'ctx.elicit "sure": unknown field requestedSchema, expected message'],
  ])("a question with the options %j says what is missing", async (options, says) => {
    const ask = defineTool({
      name: "ask",
      handler: async (_args, ctx) => (await ctx.elicit("sure", options as never)).action,
    });
    const { errors } = await runTool(ask, {}, { era, answers: { sure: {} } });
    expect(String(errors[0])).toContain(says);
  });

  it("a question inside once is refused", async () => {
    const ask = defineTool({
      name: "ask",
      handler: async (_args, ctx) =>
        ctx.once("book", async () => (await ctx.elicit("sure", { message: "?", schema: z.object({}) })).action),
    });
    const { errors, questions } = await runTool(ask, {}, { era, answers: { sure: {} } });
    expect(String(errors[0])).toContain('"sure" must not be asked while ctx.once "book" runs');
    expect(questions).toEqual([]);
  });

  it("a question before once, and another one after it, are asked", async () => {
    const ask = defineTool({
      name: "ask",
      handler: async (_args, ctx) => {
        await ctx.elicit("first", { message: "?", schema: z.object({}) });
        await ctx.once("book", () => 7);
        return (await ctx.elicit("last", { message: "?", schema: z.object({}) })).action;
      },
    });
    expect((await runTool(ask, {}, { era, answers: { first: {}, last: {} } })).text).toBe("accept");
  });

  it("work in memo and once is done once, and what stands before a question again in 2026, of which it warns once", async () => {
    const warn = vi.spyOn(console, "error").mockImplementation(() => {});
    const order = defineTool({
      name: `order in ${era}`.replaceAll(" ", "_"),
      handler: async (_args, ctx) => {
        await ctx.fetch("https://api.example.com/price");
        await ctx.memo("kept", async () => (await ctx.fetch("https://api.example.com/kept")).status);
        await ctx.resources.write({ uri: "note:log", name: "log", text: "x" });
        await ctx.elicit("sure", { message: "?", schema: z.object({ yes: z.boolean() }) });
        await ctx.once("pay", async () => (await ctx.fetch("https://api.example.com/pay", { method: "POST" })).status);
        return "ordered";
      },
    });
    const options = { era, answers: { sure: { yes: true } }, fetch: () => new Response("1") };
    const ran = await runTool(order, {}, options);
    expect(ran.text).toBe("ordered");
    expect(ran.effects.filter(({ what }) => /kept|pay/.test(what)).map(({ what }) => what)).toEqual([
      "fetch GET https://api.example.com/kept",
      "fetch POST https://api.example.com/pay",
    ]);
    const again = ["fetch GET https://api.example.com/price", "write note:log"];
    expect(ran.repeated).toEqual(era === "2026" ? again : []);
    await runTool(order, {}, options);
    expect(warn).toHaveBeenCalledTimes(era === "2026" ? 1 : 0);
    warn.mockRestore();
  });

  it("a handler knows of the request and of its client what the test says of them", async () => {
    const who = defineTool({
      name: "who",
      handler: (_args, ctx) => ({
        structuredContent: {
          client: ctx.client,
          can: [ctx.can("elicitation"), ctx.can("sampling"), ctx.can("roots")],
          requestId: ctx.requestId,
          language: ctx.request.headers.get("accept-language"),
          shown: ctx.request.headers.has("authorization"),
          meta: ctx.meta,
        },
      }),
    });
    const said = {
      client: { name: "Desk", version: "7", capabilities: { sampling: {} } },
      requestId: "r-1",
      headers: { "Accept-Language": "de", authorization: "Bearer x" },
      meta: { "com.example/trace": "t" },
    };
    expect((await runTool(who, {}, { era, ...said })).structured).toEqual({
      client: { name: "Desk", version: "7" },
      can: [false, true, false],
      requestId: "r-1",
      language: "de",
      shown: false,
      meta: said.meta,
    });
    expect((await runTool(who, {}, { era })).structured).toEqual({
      client: { name: "test", version: "0" },
      can: [true, true, true],
      requestId: "test",
      language: null,
      shown: false,
      meta: {},
    });
    const bad = defineTool({ name: "bad", handler: () => Promise.reject(new Error("no")) });
    expect((await runTool(bad, {}, { era, requestId: "r-2" })).text).toContain("under request r-2");
    const prompt = definePrompt({ name: "p", handler: (_args, ctx) => `${ctx.client?.name} ${ctx.requestId}` });
    expect((await runPrompt(prompt, {}, { era, ...said })).text).toBe("Desk r-1");
  });

  it.each<[options: object, says: string]>([
    [{ answer: {} }, "unknown field answer, expected era, tenant"],
    [{ answer: {} }, 'did you mean "answers"?'],
    [{ capabilities: {} }, "unknown field capabilities"],
    [{ client: { title: "x" } }, "client: unknown field title, expected name, version, capabilities"],
    [{ client: "Desk" }, "client must be an object, not a string"],
    [{ principal: { sub: "ann" } }, "principal: unknown field sub"],
    [{ era: "2024" }, 'era must be "2025" or "2026", not "2024"'],
  ])("options that there are not are refused: %j", async (options, says) => {
    const tool = defineTool({ name: "t", handler: () => "" });
    await expect(async () => runTool(tool, {}, { era, ...options })).rejects.toThrow(`tenantry/testing: options`);
    await expect(async () => runTool(tool, {}, { era, ...options })).rejects.toThrow(says);
  });

  it("what leaves goes to the test, after it was looked at as in a Worker", async () => {
    const get = defineTool({
      name: "get",
      input: z.object({ url: z.string() }),
      handler: async ({ url }, ctx) => (await ctx.fetch(url)).text(),
    });
    const fetch = (request: Request) => new Response(`from ${request.url}`);
    const at = (url: string) => runTool(get, { url }, { era, fetch });
    expect((await at("https://example.com/a")).text).toBe("from https://example.com/a");
    expect((await at("http://127.0.0.1/a")).isError).toBe(true);
    const { isError, errors } = await runTool(get, { url: "https://example.com/" }, { era });
    expect(isError).toBe(true);
    expect(errors).toMatchObject([{ message: expect.stringContaining("has no option fetch") }]);
  });

  it("links, announcements and what is stored are there to be looked at", async () => {
    const report = defineTool({
      name: "report",
      handler: async (_args, ctx) => {
        await ctx.resources.write({ uri: "note:b", name: "b", text: "new" });
        await ctx.announce({ tools: true, updated: ["note:b"] });
        return ctx.link("a,b\n", { name: "Report", mimeType: "text/csv" });
      },
    });
    const ran = await runTool(report, {}, { era });
    expect(ran.links).toMatchObject([{ name: "Report", mimeType: "text/csv", text: "a,b\n" }]);
    expect(ran.result["content"]).toMatchObject([{ type: "resource_link", uri: ran.links[0]?.uri, name: "Report" }]);
    expect(ran.announcements).toEqual([{ tools: true, updated: ["note:b"] }]);
    expect(await ran.resources.read("note:b")).toMatchObject({ text: "new" });
  });

  it.each<[says: string, mistake: (ctx: Context) => unknown]>([
    ["ctx.log: level must be one of debug, info, notice, warning, ", (ctx) => ctx.log("warn" as never, "x")],
    [
      "the first argument of a question must be its name, a string",
      (ctx) => ctx.elicit({ message: "?" } as never, undefined as never),
    ],
    [
      "the first argument of a question must be its name, a string",
      (ctx) => ctx.sample({ messages: [] } as never, {} as never),
    ],
    ["UserError: message must be a string", () => Promise.reject(new UserError({ no: 7 } as never))],
  ])("a handler's mistake is named to its author: %s", async (says, mistake) => {
    const handler = async (_args: object, ctx: Context) => String(await mistake(ctx));
    const ran = await runTool(defineTool({ name: "t", handler }), {}, { era });
    expect(ran).toMatchObject({ isError: true, errors: [{ message: expect.stringContaining(says) }] });
  });

  it("a handler that throws is a result, and a fault of its operator", async () => {
    const fault = new Error("no");
    const bad = defineTool({ name: "bad", handler: () => Promise.reject(fault) });
    expect(await runTool(bad, {}, { era })).toMatchObject({ isError: true, errors: [fault] });
  });

  it("prompts, resources, templates and their lists are run as tools are", async () => {
    const greet = definePrompt({
      name: "greet",
      arguments: { who: { required: true } },
      handler: ({ who }) => `Hello ${who}`,
    });
    expect((await runPrompt(greet, { who: "Ada" }, { era })).text).toBe("Hello Ada");
    expect((await runPrompt(greet, {}, { era })).error?.code).toBe(-32602);
    const logo = defineResource({ uri: "logo:a", name: "a", mimeType: "image/png", read: () => Uint8Array.of(0) });
    expect((await readFrom(logo, "logo:a", { era })).result["contents"]).toEqual([
      { uri: "logo:a", mimeType: "image/png", blob: "AA==" },
    ]);
    const tickets = defineTemplate({
      uriTemplate: "ticket:{id}",
      name: "tickets",
      read: ({ id }) => (id === "0" ? undefined : `ticket ${id}`),
      list: ({ cursor = "1" }) => ({
        resources: [{ uri: `ticket:${cursor}`, name: cursor }],
        ...(cursor === "1" && { nextCursor: "2" }),
      }),
    });
    expect((await readFrom(tickets, "ticket:7", { era })).text).toBe("ticket 7");
    expect((await readFrom(tickets, "ticket:0", { era })).error).toMatchObject({ message: "Resource not found" });
    expect((await listFrom(tickets, { era })).result["resources"]).toEqual([
      { uri: "ticket:1", name: "1" },
      { uri: "ticket:2", name: "2" },
    ]);
  });

  it("around a call there is a signal, which is not aborted while the call runs", async () => {
    const aborted: unknown[] = [];
    const tool = defineTool({
      name: "greet",
      around: (call, next) => {
        aborted.push(call.signal.aborted);
        return next();
      },
      handler: () => "Hello",
    });
    const { text } = await runTool(tool, {}, { era });
    expect([text, aborted]).toEqual(["Hello", [false]]);
  });
});
