import { describe, expect, test } from "vitest";
import { UNCACHED, type CallOutcome } from "../../../src/protocol/call-outcome.ts";
import { failure } from "../../../src/protocol/errors.ts";
import type { JsonObject } from "../../../src/protocol/jsonrpc.ts";
import { invalid } from "../../../src/protocol/methods/params.ts";
import { answerOf, callOf, FakeRequestHandlers, REVISIONS } from "../../support/fake-request-handlers.ts";
import { expectOfficial } from "../../support/official-schema.ts";

const ITEMS = [
  { uri: "x:a", name: "a" },
  { uri: "x:b", name: "b", mimeType: "text/plain", size: 3, annotations: { priority: 0.5 } },
];
const CONTENTS = { contents: [{ uri: "x:a", mimeType: "text/plain", text: "a" }] };

describe.each(REVISIONS)("in %s", (revision) => {
  const in2026 = revision === "2026-07-28";

  const list = async (params: JsonObject, given: Partial<FakeRequestHandlers> = {}) => {
    const handlers = new FakeRequestHandlers({ onList: () => ({ items: ITEMS }), ...given });
    const answered = await answerOf(callOf(revision, "resources/list", params), handlers);
    expectOfficial(revision, answered.message, { direction: "server", method: "resources/list" });
    return { ...answered, handlers };
  };

  const read = async (params: JsonObject, outcome: CallOutcome = { kind: "complete", result: CONTENTS }) => {
    const handlers = new FakeRequestHandlers({ onRead: () => outcome });
    const answered = await answerOf(callOf(revision, "resources/read", params), handlers);
    expectOfficial(revision, answered.message, { direction: "server", method: "resources/read" });
    return { ...answered, handlers };
  };

  test("a page of resources comes from the request handlers, with their cursor", async () => {
    const { result, handlers } = await list({}, { onList: () => ({ items: ITEMS, nextCursor: "more" }) });
    expect(result).toMatchObject({ resources: ITEMS, nextCursor: "more" });
    expect(handlers.requests).toEqual([["listResources", undefined]]);
  });

  test("the last page has no cursor", async () => {
    expect((await list({})).result).not.toHaveProperty("nextCursor");
  });

  test("the client's cursor reaches the request handlers, which may refuse it", async () => {
    const refuse = () => invalid("cursor", "is not one of this list");
    const { handlers, error } = await list({ cursor: "theirs" }, { onList: refuse });
    expect(handlers.requests).toEqual([["listResources", "theirs"]]);
    expect(error).toMatchObject({ code: -32602, data: { path: "cursor" } });
  });

  test("a cursor that is not a string does not reach the request handlers", async () => {
    const { handlers, error } = await list({ cursor: 5 });
    expect(handlers.requests).toEqual([]);
    expect(error?.code).toBe(-32602);
  });

  test("a list is fresh every time and has the scope of the view", async () => {
    for (const cacheScope of ["public", "private"] as const) {
      const { result } = await list({}, { cache: { ttlMs: 5000, cacheScope } });
      expect([result.ttlMs, result.cacheScope]).toEqual(in2026 ? [0, cacheScope] : [undefined, undefined]);
    }
  });

  test("a URI reaches the request handlers in normal form and as requested", async () => {
    const { handlers, result } = await read({ uri: "FILE:///a%2db/%c3%a9" });
    expect(handlers.requests).toEqual([["readResource", "file:///a-b/%C3%A9", "FILE:///a%2db/%c3%a9"]]);
    expect(result.contents).toEqual(CONTENTS.contents);
  });

  test("the answer has the URI as requested, or in normal form if the request's is invalid", async () => {
    const { handlers } = await read({ uri: "x:é/%7Ea" });
    expect(handlers.requests).toEqual([["readResource", "x:%C3%A9/~a", "x:%C3%A9/~a"]]);
  });

  test.each(["", "/etc/passwd", "file:///a/../../etc/passwd", "file:///a/%2e%2e/b", "x:a%00", "x:a b"])(
    "the URI %j does not reach the request handlers",
    async (uri) => {
      const { handlers, error, status } = await read({ uri });
      expect(handlers.requests).toEqual([]);
      expect(error).toMatchObject({ code: -32602, data: { uri } });
      expect(status).toBe(200);
    },
  );

  test.each([undefined, null, 5, ["x:a"]])("a URI of %j is invalid params", async (uri) => {
    const { handlers, error } = await read({ uri });
    expect(handlers.requests).toEqual([]);
    expect(error).toMatchObject({ code: -32602, data: { path: "uri" } });
  });

  test("a read says how long it may be cached, by default not at all", async () => {
    const hint = { ttlMs: 1000, cacheScope: "public" } as const;
    const kept = await read({ uri: "x:a" }, { kind: "complete", result: CONTENTS, cache: hint });
    const plain = await read({ uri: "x:a" });
    for (const [{ result }, expected] of [
      [kept, hint],
      [plain, UNCACHED],
    ] as const) {
      expect([result.ttlMs, result.cacheScope]).toEqual(
        in2026 ? [expected.ttlMs, expected.cacheScope] : [undefined, undefined],
      );
    }
  });

  test("what does not exist is an error that names it, never an empty result", async () => {
    const { error, result, status } = await read(
      { uri: "x:a" },
      failure("resourceNotFound", undefined, { uri: "x:a" }),
    );
    expect(error).toEqual({ code: in2026 ? -32602 : -32002, message: "Resource not found", data: { uri: "x:a" } });
    expect(result).toEqual({});
    expect(status).toBe(200);
  });
});

test("a read may ask in era 2026, and a question is never cacheable", async () => {
  const handlers = new FakeRequestHandlers({ onRead: () => ({ kind: "inputRequired", requestState: "s" }) });
  const { result, message } = await answerOf(callOf("2026-07-28", "resources/read", { uri: "x:a" }), handlers);
  expectOfficial("2026-07-28", message, { direction: "server", method: "resources/read" });
  expect(result).toMatchObject({ resultType: "input_required", requestState: "s" });
  expect(result).not.toHaveProperty("ttlMs");
});
