import { describe, expect, test } from "vitest";
import { SerializedResult, type CallOutcome } from "../../../src/protocol/call-outcome.ts";
import { failure } from "../../../src/protocol/errors.ts";
import type { JsonObject } from "../../../src/protocol/jsonrpc.ts";
import { answerOf, callOf, FakeRequestHandlers, promptOf, REVISIONS } from "../../support/fake-request-handlers.ts";
import { expectOfficial } from "../../support/official-schema.ts";

type Revision = (typeof REVISIONS)[number];

const message = (content: JsonObject, role = "user") => ({ role, content });
const TEXT = message({ type: "text", text: "hello" }, "assistant");
const AUDIO = message({ type: "audio", data: "QUJD", mimeType: "audio/wav" });
const LINK = message({ type: "resource_link", uri: "x:a", name: "a" });

const PROMPT = promptOf("p", {
  arguments: [
    { name: "topic", required: true },
    { name: "tone", required: false },
    { name: "length" },
    { name: "toString", required: true },
  ],
});
const ARGUMENTS = { topic: "t", toString: "s" };
const COMPLETE: CallOutcome = { kind: "complete", result: { description: "d", messages: [TEXT] } };

async function get(revision: Revision, params: JsonObject, outcome: CallOutcome = COMPLETE) {
  const handlers = new FakeRequestHandlers({ prompts: [PROMPT, promptOf("bare")], onPrompt: () => outcome });
  const answered = await answerOf(callOf(revision, "prompts/get", params), handlers);
  expectOfficial(revision, answered.message, { direction: "server", method: "prompts/get" });
  return { ...answered, handlers };
}

describe.each(REVISIONS)("a prompt in %s", (revision) => {
  test("gets its arguments and gives its messages", async () => {
    const { handlers, result } = await get(revision, { name: "p", arguments: { ...ARGUMENTS, tone: "dry" } });
    expect(handlers.requests).toEqual([["getPrompt", "p", { ...ARGUMENTS, tone: "dry" }]]);
    expect(result).toMatchObject({ description: "d", messages: [TEXT] });
  });

  test("without declared arguments needs none", async () => {
    const { handlers } = await get(revision, { name: "bare" });
    expect(handlers.requests).toEqual([["getPrompt", "bare", {}]]);
  });

  test.each<[JsonObject, string]>([
    [{}, "name"],
    [{ name: null }, "name"],
    [{ name: "p" }, "arguments.topic"],
    [{ name: "p", arguments: { tone: "dry" } }, "arguments.topic"],
    [{ name: "p", arguments: { topic: "t" } }, "arguments.toString"],
    [{ name: "p", arguments: { ...ARGUMENTS, tone: 5 } }, "arguments.tone"],
    [{ name: "p", arguments: { topic: null, toString: "s" } }, "arguments.topic"],
    [{ name: "p", arguments: ["t"] }, "arguments"],
    [{ name: "p", arguments: "t" }, "arguments"],
  ])("is not asked with the params %j", async (params, path) => {
    const { handlers, error, status } = await get(revision, params);
    expect(error).toMatchObject({ code: -32602, data: { path } });
    expect(status).toBe(200);
    expect(handlers.requests).toEqual([]);
  });

  test("takes arguments of null for none in era 2025, and refuses them in 2026", async () => {
    const { handlers, error } = await get(revision, { name: "bare", arguments: null });
    const isRefused = revision === "2026-07-28";
    expect(error?.code).toBe(isRefused ? -32602 : undefined);
    expect(handlers.requests).toEqual(isRefused ? [] : [["getPrompt", "bare", {}]]);
  });

  test("takes an argument of null for one that is left out", async () => {
    const { handlers } = await get(revision, { name: "p", arguments: { ...ARGUMENTS, tone: null } });
    expect(handlers.requests).toEqual([["getPrompt", "p", ARGUMENTS]]);
  });

  test("is satisfied by a required argument that is empty", async () => {
    const { error } = await get(revision, { name: "p", arguments: { ...ARGUMENTS, topic: "" } });
    expect(error).toBeUndefined();
  });

  test("that is unknown is invalid params", async () => {
    const { error } = await get(revision, { name: "other" });
    expect(error).toMatchObject({ code: -32602, message: "Unknown prompt: other" });
  });

  test("that fails is that error", async () => {
    const { error } = await get(revision, { name: "bare" }, failure("internal", "bare: broken"));
    expect(error).toEqual({ code: -32603, message: "bare: broken" });
  });

  test("shows audio and links as the revision knows them, in their order and roles", async () => {
    const outcome: CallOutcome = { kind: "complete", result: { messages: [AUDIO, TEXT, LINK] } };
    const { result } = await get(revision, { name: "bare" }, outcome);
    const messages = result.messages as { role: string; content: JsonObject }[];
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
    expect(messages.map(({ content }) => content.type)).toEqual([
      revision === "2024-11-05" ? "resource" : "audio",
      "text",
      revision < "2025-06-18" ? "text" : "resource_link",
    ]);
    if (revision === "2024-11-05") expect(messages[0]?.content).toHaveProperty("resource.blob", "QUJD");
    if (revision < "2025-06-18") expect(messages[2]?.content).toHaveProperty("text", "a <x:a>");
  });

  test("has caching hints in its list only", async () => {
    const got = await get(revision, { name: "bare" });
    expect(got.result).not.toHaveProperty("ttlMs");
    const listed = await answerOf(callOf(revision, "prompts/list"), new FakeRequestHandlers({ prompts: [PROMPT] }));
    expectOfficial(revision, listed.message, { direction: "server", method: "prompts/list" });
    expect("ttlMs" in listed.result).toBe(revision === "2026-07-28");
    expect(listed.result.prompts).toEqual([PROMPT.wire]);
  });
});

describe("outcomes that are handed on", () => {
  test("a question of era 2026", async () => {
    const { result } = await get("2026-07-28", { name: "bare" }, { kind: "inputRequired", requestState: "s" });
    expect(result).toMatchObject({ resultType: "input_required", requestState: "s" });
  });

  test("a result without messages is an internal error", async () => {
    const handlers = new FakeRequestHandlers({
      prompts: [promptOf("bare")],
      onPrompt: () => ({ kind: "complete", result: { messages: "none" } }),
    });
    const { result } = await answerOf(callOf("2024-11-05", "prompts/get", { name: "bare" }), handlers);
    expect(result).toEqual({ messages: "none" });
  });

  test("a result that is JSON already", async () => {
    const result = new SerializedResult(JSON.stringify({ messages: [TEXT] }));
    const answered = await get("2026-07-28", { name: "bare" }, { kind: "complete", result });
    expect(answered.result.messages).toEqual([TEXT]);
  });
});
