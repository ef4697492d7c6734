import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  errorResponse,
  isMessageId,
  notification,
  parseMessage,
  resultResponse,
  type JsonObject,
} from "../../src/protocol/jsonrpc.ts";
import { SEED } from "../support/seed.ts";

const requestIds = fc.oneof(fc.string({ unit: "binary" }), fc.maxSafeInteger());

describe("parsing", () => {
  test.each(["a", "", "null", 0, 1, -1, Number.MAX_SAFE_INTEGER])("a request keeps the id %j", (id) => {
    const message = { jsonrpc: "2.0", id, method: "m", params: { a: 1 } };
    expect(parseMessage(message)).toEqual({ kind: "request", id, method: "m", params: { a: 1 } });
  });

  test("params may be left out", () => {
    expect(parseMessage({ jsonrpc: "2.0", id: 1, method: "m" })).toEqual({
      kind: "request",
      id: 1,
      method: "m",
      params: undefined,
    });
  });

  test("a call without an id is a notification", () => {
    const message = { jsonrpc: "2.0", method: "notifications/initialized", params: {} };
    expect(parseMessage(message)).toEqual({ kind: "notification", method: "notifications/initialized", params: {} });
  });

  test("params of null count as left out", () => {
    const message = { jsonrpc: "2.0", id: 1, method: "m", params: null };
    expect(parseMessage(message)).toEqual({ kind: "request", id: 1, method: "m", params: undefined });
  });

  test("an id of null counts as left out of a notification, and of nothing else", () => {
    const method = "notifications/initialized";
    for (const params of [undefined, null, {}]) {
      const message = { jsonrpc: "2.0", id: null, method, params };
      expect(parseMessage(message)).toEqual({ kind: "notification", method, params: params ?? undefined });
    }
    for (const other of ["initialize", "ping", "notifications", "my/notifications/x", undefined, 5])
      expect(parseMessage({ jsonrpc: "2.0", id: null, method: other })).toMatchObject({ kind: "invalid", id: null });
    expect(parseMessage({ jsonrpc: "2.0", id: false, method })).toMatchObject({ kind: "invalid" });
  });

  test("a message with a result or an error is a response", () => {
    expect(parseMessage({ jsonrpc: "2.0", id: "q", result: { ok: true } })).toEqual({
      kind: "response",
      id: "q",
      result: { ok: true },
    });
    const error = { code: -32603, message: "no" };
    expect(parseMessage({ jsonrpc: "2.0", id: 1, error })).toEqual({ kind: "response", id: 1, error });
  });

  test("a member that is no part of JSON-RPC changes nothing", () => {
    const message = { jsonrpc: "2.0", id: 1, method: "m", server_id: "x" };
    expect(parseMessage(message)).toMatchObject({ kind: "request", id: 1 });
  });

  test.each<[unknown, unknown]>([
    [null, undefined],
    [undefined, undefined],
    ["text", undefined],
    [12, undefined],
    [[], undefined],
    [{}, undefined],
    [{ id: 1, method: "m" }, 1],
    [{ jsonrpc: "1.0", id: "a", method: "m" }, "a"],
    [{ jsonrpc: 2, id: 1, method: "m" }, 1],
    [{ jsonrpc: "2.0" }, undefined],
    [{ jsonrpc: "2.0", id: 1 }, 1],
    [{ jsonrpc: "2.0", id: null, method: "m" }, null],
    [{ jsonrpc: "2.0", id: 1.5, method: "m" }, undefined],
    [{ jsonrpc: "2.0", id: true, method: "m" }, undefined],
    [{ jsonrpc: "2.0", id: [1], method: "m" }, undefined],
    [{ jsonrpc: "2.0", id: {}, method: "m" }, undefined],
    [{ jsonrpc: "2.0", id: 1, method: 5 }, 1],
    [{ jsonrpc: "2.0", id: 1, method: null }, 1],
    [{ jsonrpc: "2.0", id: 1, method: "m", params: [] }, 1],
    [{ jsonrpc: "2.0", id: 1, method: "m", params: "p" }, 1],
    [{ jsonrpc: "2.0", id: 1, method: "m", result: {} }, 1],
    [{ jsonrpc: "2.0", id: 1, method: "m", error: {} }, 1],
    [{ jsonrpc: "2.0", id: 1, result: {}, error: {} }, 1],
    [{ jsonrpc: "2.0", id: 1, result: "text" }, 1],
    [{ jsonrpc: "2.0", id: 1, result: null }, 1],
    [{ jsonrpc: "2.0", id: 1, error: [] }, 1],
    [{ jsonrpc: "2.0", result: {} }, undefined],
    [{ jsonrpc: "2.0", id: null, error: { code: -32700, message: "Parse error" } }, null],
  ])("%j is invalid and may echo the id %j", (value, id) => {
    const message = parseMessage(value);
    expect(message).toMatchObject({ kind: "invalid", why: expect.stringMatching(/./) });
    expect(message).toHaveProperty("id", id);
  });

  test("any JSON becomes exactly one kind of message, without an exception", () => {
    const member = fc.oneof(fc.constant("2.0"), fc.jsonValue());
    const record = fc.record(
      { jsonrpc: member, id: fc.jsonValue(), method: member, params: fc.jsonValue(), result: fc.jsonValue() },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.oneof(record, fc.jsonValue()), (value) => {
        const message = parseMessage(value);
        expect(["request", "notification", "response", "invalid"]).toContain(message.kind);
        const { id } = (value ?? {}) as { id?: unknown };
        if (message.kind === "request" || message.kind === "response") expect(message.id).toBe(id);
        if (message.kind === "notification") expect(value).not.toHaveProperty("id");
        if (message.kind === "invalid" && message.id !== undefined) expect(message.id).toBe(id);
      }),
      { ...SEED, numRuns: 500 },
    );
  });

  test("a request id is a string or an integer", () => {
    expect(["", "a", 0, -3].every(isMessageId)).toBe(true);
    expect([1.5, Number.NaN, Number.POSITIVE_INFINITY, null, undefined, {}, true].some(isMessageId)).toBe(false);
  });
});

describe("writing", () => {
  test("a result response carries the id and the JSON it is given", () => {
    fc.assert(
      fc.property(requestIds, fc.dictionary(fc.string(), fc.jsonValue()), (id, result) => {
        const json = JSON.stringify(result);
        expect(JSON.parse(resultResponse(id, json))).toEqual({ jsonrpc: "2.0", id, result: JSON.parse(json) });
      }),
      SEED,
    );
  });

  test("an error response carries id, code, message and data", () => {
    const written = JSON.parse(errorResponse("a", -32602, "no", { path: "x" })) as JsonObject;
    expect(written).toEqual({ jsonrpc: "2.0", id: "a", error: { code: -32602, message: "no", data: { path: "x" } } });
  });

  test("an error response tells an id of null from an id that could not be read", () => {
    expect(JSON.parse(errorResponse(null, -32600, "no"))).toEqual({
      jsonrpc: "2.0",
      id: null,
      error: { code: -32600, message: "no" },
    });
    expect(JSON.parse(errorResponse(undefined, -32700, "no"))).toEqual({
      jsonrpc: "2.0",
      error: { code: -32700, message: "no" },
    });
  });

  test("data of null or false is data", () => {
    expect(JSON.parse(errorResponse(1, 1, "m", null))).toHaveProperty("error.data", null);
    expect(JSON.parse(errorResponse(1, 1, "m", false))).toHaveProperty("error.data", false);
  });

  test("a notification has method and params and no id", () => {
    expect(JSON.parse(notification("notifications/progress", { progress: 1 }))).toEqual({
      jsonrpc: "2.0",
      method: "notifications/progress",
      params: { progress: 1 },
    });
  });

  test("what is written is read back as the same message", () => {
    fc.assert(
      fc.property(requestIds, fc.string(), (id, text) => {
        expect(parseMessage(JSON.parse(resultResponse(id, "{}")))).toEqual({ kind: "response", id, result: {} });
        expect(parseMessage(JSON.parse(errorResponse(id, -1, text)))).toEqual({
          kind: "response",
          id,
          error: { code: -1, message: text },
        });
        expect(parseMessage(JSON.parse(notification(text, {})))).toEqual({
          kind: "notification",
          method: text,
          params: {},
        });
      }),
      SEED,
    );
  });
});
