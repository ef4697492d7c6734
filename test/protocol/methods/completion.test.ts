import { describe, expect, test } from "vitest";
import { failure } from "../../../src/protocol/errors.ts";
import type { JsonObject } from "../../../src/protocol/jsonrpc.ts";
import { answerOf, callOf, FakeRequestHandlers, REVISIONS } from "../../support/fake-request-handlers.ts";
import { expectOfficial } from "../../support/official-schema.ts";

const PROMPT = { type: "ref/prompt", name: "p" };
const TEMPLATE = { type: "ref/resource", uri: "x:{a}" };
const ARGUMENT = { name: "a", value: "v" };

describe.each(REVISIONS)("in %s", (revision) => {
  const complete = async (params: JsonObject, onComplete: FakeRequestHandlers["onComplete"] = () => ["v1", "v2"]) => {
    const handlers = new FakeRequestHandlers({ onComplete });
    const answered = await answerOf(callOf(revision, "completion/complete", params), handlers);
    expectOfficial(revision, answered.message, { direction: "server", method: "completion/complete" });
    return { ...answered, handlers, completion: answered.result.completion };
  };

  test("a prompt's argument is completed", async () => {
    const { handlers, completion } = await complete({ ref: PROMPT, argument: ARGUMENT });
    expect(handlers.requests).toEqual([["complete", { ref: { type: "prompt", name: "p" }, ...ARGUMENT, known: {} }]]);
    expect(completion).toEqual({ values: ["v1", "v2"], total: 2, hasMore: false });
  });

  test("a template's variable is completed, knowing what was chosen before", async () => {
    const context = { arguments: { b: "1" } };
    const { handlers } = await complete({ ref: TEMPLATE, argument: { name: "a", value: "" }, context });
    expect(handlers.requests).toEqual([
      ["complete", { ref: { type: "resource", uri: "x:{a}" }, name: "a", value: "", known: { b: "1" } }],
    ]);
  });

  test("members the protocol does not know go no further", async () => {
    const { handlers } = await complete({
      ref: { ...PROMPT, title: "P" },
      argument: { ...ARGUMENT, extra: 1 },
      context: {},
    });
    expect(handlers.requests).toEqual([["complete", { ref: { type: "prompt", name: "p" }, ...ARGUMENT, known: {} }]]);
  });

  test.each([
    [0, 0, false],
    [1, 1, false],
    [100, 100, false],
    [101, 100, true],
    [1000, 100, true],
  ])("of %d values %d are sent, and more: %s", async (total, sent, hasMore) => {
    const values = Array.from({ length: total }, (_, at) => `v${at}`);
    const { completion } = await complete({ ref: PROMPT, argument: ARGUMENT }, () => values);
    expect(completion).toEqual({ values: values.slice(0, sent), total, hasMore });
  });

  test.each<[JsonObject, string]>([
    [{ argument: ARGUMENT }, "ref"],
    [{ ref: "p", argument: ARGUMENT }, "ref"],
    [{ ref: { type: "ref/tool", name: "p" }, argument: ARGUMENT }, "ref"],
    [{ ref: { type: "ref/prompt", uri: "x:a" }, argument: ARGUMENT }, "ref"],
    [{ ref: { type: "ref/resource", name: "p" }, argument: ARGUMENT }, "ref"],
    [{ ref: { name: "p" }, argument: ARGUMENT }, "ref"],
    [{ ref: PROMPT }, "argument"],
    [{ ref: PROMPT, argument: ["a"] }, "argument"],
    [{ ref: PROMPT, argument: { value: "v" } }, "argument.name"],
    [{ ref: PROMPT, argument: { name: "a" } }, "argument.value"],
    [{ ref: PROMPT, argument: { name: "a", value: 5 } }, "argument.value"],
  ])("%j is refused", async (params, path) => {
    const { handlers, error, status } = await complete(params);
    expect(error).toMatchObject({ code: -32602, data: { path } });
    expect(status).toBe(200);
    expect(handlers.requests).toEqual([]);
  });

  test.each<[unknown]>([["b"], [[]], [{ b: 5 }]])("chosen values of %j are refused", async (chosen) => {
    const { handlers, error } = await complete({ ref: PROMPT, argument: ARGUMENT, context: { arguments: chosen } });
    expect(error?.code).toBe(-32602);
    expect(handlers.requests).toEqual([]);
  });

  test("a failure of the request handlers is the answer", async () => {
    const { error } = await complete({ ref: PROMPT, argument: ARGUMENT }, () =>
      failure("invalidParams", "Unknown prompt: p"),
    );
    expect(error).toEqual({ code: -32602, message: "Unknown prompt: p" });
  });
});
