import { describe, expect, test } from "vitest";
import { SerializedResult, type CallOutcome, type Complete } from "../../src/protocol/call-outcome.ts";
import { dispatch, encodeOutcome, encodeFailure } from "../../src/protocol/dispatch.ts";
import { REVISION_2026, REVISION_FEATURES, LATEST_2025, VERSIONS_2025 } from "../../src/protocol/revisions.ts";
import { failure } from "../../src/protocol/errors.ts";
import type { JsonObject } from "../../src/protocol/jsonrpc.ts";
import { META } from "../../src/protocol/meta.ts";
import { callOf, FakeRequestHandlers, REVISIONS } from "../support/fake-request-handlers.ts";
import { expectOfficial } from "../support/official-schema.ts";

const SERVER = { name: "fake", version: "1.2.3" };
const STAMP = { resultType: "complete", _meta: { [META.serverInfo]: SERVER } };
const HINT = { ttlMs: 5, cacheScope: "private" } as const;

const ONLY_2025 = ["ping", "logging/setLevel"];
const ONLY_2026 = ["server/discover"];
const NOWHERE = [
  "initialize",
  "unknown/method",
  "tasks/list",
  "toString",
  "constructor",
  "__proto__",
  "",
  "TOOLS/LIST",
  "tools/list ",
];

describe.each(REVISIONS)("the methods of %s", (revision) => {
  const in2026 = revision === "2026-07-28";
  const absentOf = async (methods: readonly string[]) => {
    const handlers = new FakeRequestHandlers();
    const outcomes = await Promise.all(methods.map((method) => dispatch(callOf(revision, method), handlers)));
    return methods.filter((_method, at) => {
      const outcome = outcomes[at];
      return outcome?.kind === "failure" && outcome.error === "methodNotFound";
    });
  };

  test("are those of its era, and no name that only looks like one", async () => {
    const absent = in2026 ? ONLY_2025 : ONLY_2026;
    expect(await absentOf([...ONLY_2025, ...ONLY_2026, ...NOWHERE])).toEqual([...absent, ...NOWHERE]);
  });

  test("an unknown method is a JSON-RPC error, and not found in HTTP where the revision says so", () => {
    const { json, status } = encodeOutcome("x", failure("methodNotFound"), REVISION_FEATURES[revision], SERVER);
    expect(status).toBe(in2026 ? 404 : 200);
    expect(JSON.parse(json)).toEqual({ jsonrpc: "2.0", id: "x", error: { code: -32601, message: "Method not found" } });
    expectOfficial(revision, JSON.parse(json), { direction: "server" });
  });
});

function resultOf(outcome: CallOutcome, revision = REVISION_2026): JsonObject {
  const { json, status } = encodeOutcome(1, outcome, revision, SERVER);
  expect(status).toBe(200);
  const message = JSON.parse(json) as { id: unknown; result: JsonObject };
  expect(message).toEqual({ jsonrpc: "2.0", id: 1, result: expect.any(Object) });
  return message.result;
}

const complete = (result: Complete["result"], cache?: Complete["cache"]): Complete => ({
  kind: "complete",
  result,
  ...(cache ? { cache } : {}),
});

describe("a result of era 2026", () => {
  test("is stamped as complete and with the server's name", () => {
    expect(resultOf(complete({ content: [] }))).toEqual({ ...STAMP, content: [] });
  });

  test("is the stamp alone when it is empty", () => {
    expect(resultOf(complete({}))).toEqual(STAMP);
    expect(resultOf(complete({ left: undefined }))).toEqual(STAMP);
    expect(resultOf(complete(new SerializedResult("{}")))).toEqual(STAMP);
  });

  test("that is JSON already is stamped without being read", () => {
    expect(resultOf(complete(new SerializedResult('{"tools":[{"name":"a"}]}')))).toEqual({
      ...STAMP,
      tools: [{ name: "a" }],
    });
  });

  test("says how long and by whom it may be kept", () => {
    expect(resultOf(complete({ tools: [] }, HINT))).toEqual({ ...STAMP, ...HINT, tools: [] });
    expect(resultOf(complete(new SerializedResult('{"tools":[]}'), HINT))).toEqual({ ...STAMP, ...HINT, tools: [] });
    expect(resultOf(complete({}, { ttlMs: 0, cacheScope: "public" }))).toEqual({
      ...STAMP,
      ttlMs: 0,
      cacheScope: "public",
    });
  });

  test("keeps its own _meta beside the server's name", () => {
    const _meta = { "com.example/trace": [1, 2], progress: null };
    expect(resultOf(complete({ content: [], _meta }, HINT))).toEqual({
      ...STAMP,
      ...HINT,
      content: [],
      _meta: { ..._meta, ...STAMP._meta },
    });
  });

  test("does not let its _meta speak for the server", () => {
    const _meta = { [META.serverInfo]: { name: "somebody else", version: "9" } };
    expect(resultOf(complete({ _meta }))).toEqual(STAMP);
  });

  test("does not change what it was made of", () => {
    const result = { content: [], _meta: { a: 1 } };
    resultOf(complete(result));
    expect(result).toEqual({ content: [], _meta: { a: 1 } });
  });

  test("names each server by its own name", () => {
    for (const server of [SERVER, { name: "other", version: "2", title: "Other" }, SERVER]) {
      const message = JSON.parse(encodeOutcome(1, complete({}), REVISION_2026, server).json) as JsonObject;
      expect(message).toHaveProperty(["result", "_meta", META.serverInfo], server);
    }
  });

  test("is valid by the official schema", () => {
    const tools = complete({ tools: [] }, HINT);
    const text = complete({ content: [{ type: "text", text: 'a "quoted" }{ \u2028 text' }], _meta: { a: 1 } });
    for (const [method, outcome] of [
      ["tools/list", tools],
      ["tools/call", text],
    ] as const) {
      const { json } = encodeOutcome("id", outcome, REVISION_2026, SERVER);
      expectOfficial("2026-07-28", JSON.parse(json), { direction: "server", method });
    }
  });
});

describe("a question of era 2026", () => {
  const inputRequests = { who: { method: "roots/list" } };

  test("carries the requests, the state and the server's name, and no caching hint", () => {
    expect(resultOf({ kind: "inputRequired", inputRequests, requestState: "sealed" })).toEqual({
      resultType: "input_required",
      inputRequests,
      requestState: "sealed",
      _meta: STAMP._meta,
    });
  });

  test("may consist of state alone", () => {
    const result = resultOf({ kind: "inputRequired", requestState: "sealed" });
    expect(result).not.toHaveProperty("inputRequests");
    expect(result.requestState).toBe("sealed");
  });

  test.each(["tools/call", "prompts/get", "resources/read"])("is valid as an answer to %s", (method) => {
    const { json } = encodeOutcome(
      1,
      { kind: "inputRequired", inputRequests, requestState: "s" },
      REVISION_2026,
      SERVER,
    );
    expectOfficial("2026-07-28", JSON.parse(json), { direction: "server", method });
  });
});

describe.each(VERSIONS_2025)("a result of %s", (revision) => {
  test("is what the method returned, without stamp and hint", () => {
    const result = { tools: [], _meta: { a: 1 } };
    expect(resultOf(complete(result, HINT), REVISION_FEATURES[revision])).toEqual(result);
    expect(resultOf(complete(new SerializedResult('{"tools":[]}'), HINT), REVISION_FEATURES[revision])).toEqual({
      tools: [],
    });
  });

  test("may have no members at all", () => {
    expect(encodeOutcome(1, complete({}), REVISION_FEATURES[revision], SERVER).json).toBe(
      '{"jsonrpc":"2.0","id":1,"result":{}}',
    );
  });
});

describe("a failure", () => {
  test("carries its own text and data, or the table's text", () => {
    const told = encodeOutcome("a", failure("invalidParams", "no such tool", { path: "name" }), REVISION_2026, SERVER);
    expect(told.status).toBe(200);
    expect(JSON.parse(told.json)).toEqual({
      jsonrpc: "2.0",
      id: "a",
      error: { code: -32602, message: "no such tool", data: { path: "name" } },
    });
    const plain = encodeOutcome("a", failure("internal"), LATEST_2025, SERVER);
    expect(JSON.parse(plain.json)).toHaveProperty("error", { code: -32603, message: "Internal error" });
  });

  test("says after how many seconds to try again only when it knows", () => {
    expect(encodeFailure(1, { ...failure("unavailable"), retryAfter: 5 }, "2026")).toMatchObject({
      status: 503,
      retryAfter: 5,
    });
    expect(encodeFailure(1, failure("unavailable"), "2026")).not.toHaveProperty("retryAfter");
  });

  test("without a readable id says null in era 2025 and nothing in era 2026", () => {
    const shown = (era: "2025" | "2026") =>
      JSON.parse(encodeFailure(undefined, failure("parseError"), era).json) as JsonObject;
    expect(shown("2025")).toHaveProperty("id", null);
    expect(shown("2026")).not.toHaveProperty("id");
    expectOfficial("2026-07-28", shown("2026"), { direction: "server" });
    expectOfficial("2025-11-25", shown("2025"), { direction: "server" });
  });

  test("of a missing resource changes its code with the era and keeps the URI", () => {
    const missing = failure("resourceNotFound", undefined, { uri: "x:y" });
    for (const [revision, code] of [
      [LATEST_2025, -32002],
      [REVISION_2026, -32602],
    ] as const) {
      const { json, status } = encodeOutcome(1, missing, revision, SERVER);
      expect(status).toBe(200);
      expect(JSON.parse(json)).toHaveProperty("error", { code, message: "Resource not found", data: { uri: "x:y" } });
    }
  });

  test("of a capability or a version is valid by the official schema", () => {
    const capability = failure("missingCapability", "needs sampling", { requiredCapabilities: { sampling: {} } });
    const version = failure("unsupportedVersion", undefined, { supported: ["2026-07-28"], requested: "v9" });
    for (const fault of [capability, version, failure("headerMismatch")]) {
      const { json, status } = encodeFailure(1, fault, "2026");
      expect(status).toBe(400);
      expectOfficial("2026-07-28", JSON.parse(json), { direction: "server" });
    }
  });
});
