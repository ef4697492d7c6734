import { describe, expect, test } from "vitest";
import { SerializedResult, type CallOutcome, type InvalidArguments } from "../../../src/protocol/call-outcome.ts";
import { failure } from "../../../src/protocol/errors.ts";
import type { ParamHeader } from "../../../src/protocol/headers.ts";
import type { JsonObject } from "../../../src/protocol/jsonrpc.ts";
import { toolError } from "../../../src/protocol/methods/tools.ts";
import { answerOf, callOf, FakeRequestHandlers, REVISIONS, toolOf } from "../../support/fake-request-handlers.ts";
import { expectOfficial } from "../../support/official-schema.ts";

type Revision = (typeof REVISIONS)[number];

const TEXT = { type: "text", text: "hello" };
const AUDIO = { type: "audio", data: "QUJD", mimeType: "audio/wav" };
const LINK = { type: "resource_link", uri: "x:a", name: "a", title: "A", description: "the first" };
const IMAGE = { type: "image", data: "QUJD", mimeType: "image/png" };

const complete = (result: JsonObject | SerializedResult): CallOutcome => ({ kind: "complete", result });

async function call(revision: Revision, outcome: CallOutcome | InvalidArguments, params: JsonObject = { name: "t" }) {
  const handlers = new FakeRequestHandlers({ tools: [toolOf("t")], onTool: () => outcome });
  const answered = await answerOf(callOf(revision, "tools/call", params), handlers);
  expectOfficial(revision, answered.message, { direction: "server", method: "tools/call" });
  return { ...answered, handlers };
}

describe.each(REVISIONS)("a call in %s", (revision) => {
  const era = revision === "2026-07-28" ? "2026" : "2025";
  const isStructured = revision >= "2025-06-18";
  const invalidArguments = revision >= "2025-11-25" ? "result" : "error";

  test("reaches the tool with its arguments", async () => {
    const args = { a: 1, b: { c: [null] } };
    const { handlers, result } = await call(revision, complete({ content: [TEXT] }), { name: "t", arguments: args });
    expect(handlers.requests).toEqual([["callTool", "t", args]]);
    expect(result.content).toEqual([TEXT]);
  });

  test("without arguments has none", async () => {
    const { handlers } = await call(revision, complete({ content: [] }));
    expect(handlers.requests).toEqual([["callTool", "t", {}]]);
  });

  test("with arguments of null has none in era 2025, and is refused in 2026", async () => {
    const { handlers, error } = await call(revision, complete({ content: [] }), { name: "t", arguments: null });
    const isRefused = revision === "2026-07-28";
    expect(error?.code).toBe(isRefused ? -32602 : undefined);
    expect(handlers.requests).toEqual(isRefused ? [] : [["callTool", "t", {}]]);
  });

  test.each<[JsonObject, string]>([
    [{}, "name"],
    [{ name: 5 }, "name"],
    [{ name: "t", arguments: [] }, "arguments"],
    [{ name: "t", arguments: "a" }, "arguments"],
  ])("with the params %j is refused before the tool is asked", async (params, path) => {
    const { handlers, error, status } = await call(revision, complete({ content: [] }), params);
    expect(error).toMatchObject({ code: -32602, data: { path } });
    expect(status).toBe(200);
    expect(handlers.requests).toEqual([]);
  });

  test("of an unknown tool is invalid params", async () => {
    const { error, status, handlers } = await call(revision, complete({ content: [] }), { name: "other" });
    expect([status, error?.code, error?.message]).toEqual([200, -32602, "Unknown tool: other"]);
    expect(handlers.requests).toEqual([]);
  });

  test("that ends in an error of the tool is a result", async () => {
    const { result, error } = await call(revision, toolError("no luck"));
    expect(error).toBeUndefined();
    expect(result).toMatchObject({ isError: true, content: [{ type: "text", text: "no luck" }] });
  });

  test("keeps structured content where the revision knows it", async () => {
    for (const [value, keeps] of [
      [{ sum: 3 }, isStructured],
      [[1, 2], era === "2026"],
      [5, era === "2026"],
      [null, era === "2026"],
    ] as const) {
      const { result } = await call(revision, complete({ content: [TEXT], structuredContent: value }));
      expect(result.content).toEqual([TEXT]);
      expect("structuredContent" in result).toBe(keeps);
      if (keeps) expect(result.structuredContent).toEqual(value);
    }
  });

  test("keeps isError and _meta beside adapted content", async () => {
    const outcome = complete({ content: [AUDIO], isError: true, _meta: { "a.b/c": 1 }, structuredContent: 5 });
    const { result } = await call(revision, outcome);
    expect(result).toMatchObject({ isError: true, _meta: { "a.b/c": 1 } });
  });

  const violations = [
    { path: "a.b", expected: "expected number", received: "string", message: "a.b: expected number, received string" },
    { path: "c", expected: "required", received: "nothing", message: "c: required, received nothing" },
  ];

  test(`with arguments that break the schema is ${invalidArguments === "error" ? "an error" : "a result"}`, async () => {
    const { result, error, status } = await call(revision, { kind: "invalidArguments", violations });
    expect(status).toBe(200);
    const text = "a.b: expected number, received string; c: required, received nothing";
    if (invalidArguments === "result") {
      expect(error).toBeUndefined();
      expect(result).toMatchObject({ isError: true, content: [{ type: "text", text: `Invalid arguments: ${text}` }] });
    } else {
      expect(error).toEqual({
        code: -32602,
        message: `Invalid params: ${text}`,
        data: { path: "a.b", expected: "expected number", received: "string", violations },
      });
    }
  });

  test("that needs an undeclared capability is an error in era 2026 and a result of the tool in era 2025", async () => {
    const data = { requiredCapabilities: { sampling: {} } };
    const { result, error, status } = await call(revision, failure("missingCapability", "t needs sampling", data));
    if (era === "2026") {
      expect([status, error]).toEqual([400, { code: -32021, message: "t needs sampling", data }]);
    } else {
      expect([status, result.isError, result.content]).toEqual([
        200,
        true,
        [{ type: "text", text: "t needs sampling" }],
      ]);
    }
  });

  test("that needs an undeclared capability says so even when the tool gives no reason", async () => {
    const data = { requiredCapabilities: { roots: {} } };
    const { result, error } = await call(revision, failure("missingCapability", undefined, data));
    const text = era === "2026" ? error?.message : (result.content as { text: string }[])[0]?.text;
    expect(text).toMatch(/capability/);
  });

  test("that fails otherwise is that error", async () => {
    const { error } = await call(revision, failure("timeout", "too slow", { timeoutMs: 5 }));
    expect(error).toEqual({ code: era === "2026" ? -32603 : -32001, message: "too slow", data: { timeoutMs: 5 } });
  });
});

describe("content", () => {
  const shownIn = async (revision: Revision, ...content: JsonObject[]) => {
    const { result } = await call(revision, complete({ content }));
    return result.content as JsonObject[];
  };

  test.each(REVISIONS)("of text, images and resources reads the same in %s", async (revision) => {
    const resource = { type: "resource", resource: { uri: "x:a", mimeType: "text/plain", text: "a" } };
    expect(await shownIn(revision, TEXT, IMAGE, resource)).toEqual([TEXT, IMAGE, resource]);
  });

  test.each(REVISIONS)("of audio is audio in %s, or the same bytes in a resource", async (revision) => {
    const other = { ...AUDIO, data: "REVG" };
    const shown = await shownIn(revision, AUDIO, TEXT, other);
    if (revision !== "2024-11-05") return expect(shown).toEqual([AUDIO, TEXT, other]);
    expect(shown.map((block) => block.type)).toEqual(["resource", "text", "resource"]);
    const [first, , last] = shown.map((block) => block.resource as JsonObject);
    expect(first).toMatchObject({ mimeType: "audio/wav", blob: "QUJD" });
    expect(last).toMatchObject({ mimeType: "audio/wav", blob: "REVG" });
    expect(first?.uri).not.toBe(last?.uri);
  });

  test.each(REVISIONS)("of a resource link is a link in %s, or text that says the same", async (revision) => {
    const { title: _title, description: _description, ...bare } = LINK;
    const shown = await shownIn(revision, LINK, bare);
    if (revision >= "2025-06-18") return expect(shown).toEqual([LINK, bare]);
    expect(shown).toEqual([
      { type: "text", text: "A <x:a>: the first" },
      { type: "text", text: "a <x:a>" },
    ]);
  });
});

describe("outcomes that are handed on", () => {
  test("a question of era 2026", async () => {
    const { result } = await call("2026-07-28", {
      kind: "inputRequired",
      inputRequests: { who: { method: "roots/list" } },
      requestState: "s",
    });
    expect(result).toMatchObject({ resultType: "input_required", requestState: "s" });
  });

  test("a result that is JSON already", async () => {
    const { result } = await call(
      "2026-07-28",
      complete(new SerializedResult('{"content":[],"structuredContent":[1]}')),
    );
    expect(result).toMatchObject({ resultType: "complete", content: [], structuredContent: [1] });
  });
});

describe("header mirrors", () => {
  const REGION: ParamHeader = { header: "Region", path: ["region"], type: "string" };
  const mirrored = () =>
    new FakeRequestHandlers({ tools: [toolOf("t", {}, [REGION])], onTool: () => complete({ content: [TEXT] }) });
  const send = (revision: Revision, args: JsonObject, header: string | null, handlers = mirrored()) =>
    answerOf(
      callOf(
        revision,
        "tools/call",
        { name: "t", arguments: args },
        {
          header: (name) => (name === "Mcp-Param-Region" ? header : null),
        },
      ),
      handlers,
    );

  test("are compared with the arguments as they were sent", async () => {
    expect((await send("2026-07-28", { region: "eu" }, "eu")).error).toBeUndefined();
    expect((await send("2026-07-28", {}, null)).error).toBeUndefined();
  });

  test.each<[JsonObject, string | null]>([
    [{ region: "eu" }, "us"],
    [{ region: "eu" }, null],
    [{}, "eu"],
  ])("of %j with %j keep the call from the tool", async (args, header) => {
    const handlers = mirrored();
    const { status, error, message } = await send("2026-07-28", args, header, handlers);
    expect([status, error?.code]).toEqual([400, -32020]);
    expect(handlers.requests).toEqual([]);
    expectOfficial("2026-07-28", message, { direction: "server" });
  });

  test.each(REVISIONS.filter((revision) => revision !== "2026-07-28"))("are no business of %s", async (revision) => {
    expect((await send(revision, { region: "eu" }, "us")).error).toBeUndefined();
    expect((await send(revision, { region: "eu" }, null)).error).toBeUndefined();
  });
});

describe.each(REVISIONS)("the list in %s", (revision) => {
  test("shows the output schemas that the revision allows", async () => {
    const object = toolOf("object", { outputSchema: { type: "object", properties: { a: { type: "string" } } } });
    const array = toolOf("array", { outputSchema: { type: "array" } });
    const untyped = toolOf("untyped", { outputSchema: { anyOf: [{ type: "string" }, { type: "number" }] } });
    const handlers = new FakeRequestHandlers({ tools: [object, array, untyped, toolOf("none")] });
    const { result, message } = await answerOf(callOf(revision, "tools/list"), handlers);
    expectOfficial(revision, message, { direction: "server", method: "tools/list" });
    const tools = result.tools as JsonObject[];
    const shown = tools.filter((tool) => "outputSchema" in tool).map((tool) => tool.name);
    const all = ["object", "array", "untyped"];
    expect(shown).toEqual(revision === "2026-07-28" ? all : revision >= "2025-06-18" ? ["object"] : []);
    expect(object.wire).toHaveProperty("outputSchema");
  });

  test("shows everything else as it was defined", async () => {
    const wire = {
      title: "T",
      description: "d",
      annotations: { readOnlyHint: true },
      inputSchema: {
        $schema: "https://json-schema.org/draft/2020-12/schema",
        type: "object",
        properties: { a: { $ref: "#/$defs/a" } },
        $defs: { a: { type: "string" } },
        additionalProperties: false,
      },
    };
    const handlers = new FakeRequestHandlers({ tools: [toolOf("t", wire)] });
    const { result } = await answerOf(callOf(revision, "tools/list"), handlers);
    expect(result.tools).toEqual([{ name: "t", ...wire }]);
  });
});
