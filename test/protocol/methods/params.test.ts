// Reading members of a request's params: the value, or the member that breaks a rule.

import { describe, expect, test } from "vitest";
import { DIALECT_2026, DIALECTS, REVISIONS_2025 } from "../../../src/protocol/era.ts";
import { failure } from "../../../src/protocol/errors.ts";
import type { JsonObject } from "../../../src/protocol/jsonrpc.ts";
import {
  invalid,
  isFailure,
  readCursor,
  readObject,
  readString,
  readStrings,
} from "../../../src/protocol/methods/params.ts";

const asked = (params: JsonObject, dialect = DIALECT_2026) => ({ params, dialect });
const DIALECTS_2025 = REVISIONS_2025.map((revision) => DIALECTS[revision]);
const refused = (path: string) => ({ kind: "failure", error: "invalidParams", data: { path } });
const NO_STRING = [undefined, null, 5, true, {}, ["a"]];

test("an invalid member is named in text and data", () => {
  expect(invalid("name", "must be a string")).toEqual(
    failure("invalidParams", "Invalid params: name must be a string", { path: "name" }),
  );
});

test("a failure is told from a value", () => {
  expect(isFailure(failure("internal"))).toBe(true);
  expect([undefined, null, "failure", [], {}, { kind: "complete" }].some(isFailure)).toBe(false);
});

describe("a string", () => {
  test("is read as it stands", () => {
    expect(readString({ name: "a" }, "name")).toBe("a");
    expect(readString({ name: "" }, "name")).toBe("");
  });

  test.each(NO_STRING)("is not %j", (name) => {
    expect(readString({ name }, "name")).toMatchObject(refused("name"));
  });
});

describe("a cursor", () => {
  test("may be absent or any string, the empty one too", () => {
    expect(readCursor(asked({}))).toBeUndefined();
    expect(readCursor(asked({ cursor: "" }))).toBe("");
    expect(readCursor(asked({ cursor: "abc" }))).toBe("abc");
  });

  test.each(NO_STRING.slice(1))("is not %j", (cursor) => {
    expect(readCursor(asked({ cursor }))).toMatchObject(refused("cursor"));
  });
});

describe("an object", () => {
  test("is empty when absent", () => {
    expect(readObject(asked({}), "arguments")).toEqual({ value: {} });
    expect(readObject(asked({ arguments: { a: [1] } }), "arguments")).toEqual({ value: { a: [1] } });
  });

  test.each([null, "text", 5, false, [], [{}]])("is not %j", (value) => {
    expect(readObject(asked({ arguments: value }), "arguments")).toMatchObject(refused("arguments"));
  });
});

describe("a map of strings", () => {
  test("is empty when absent", () => {
    expect(readStrings(asked({}), "arguments")).toEqual({ value: {} });
    expect(readStrings(asked({ arguments: { a: "1", b: "" } }), "arguments")).toEqual({ value: { a: "1", b: "" } });
  });

  test("names the first member that is no string", () => {
    expect(readStrings(asked({ arguments: { a: "1", b: 2, c: null } }), "arguments")).toMatchObject(
      refused("arguments.b"),
    );
    expect(readStrings(asked({ arguments: "a" }), "arguments")).toMatchObject(refused("arguments"));
  });
});

test.each(DIALECTS_2025)("in $revision null counts as left out, and so does an empty cursor", (dialect) => {
  for (const cursor of [null, ""]) expect(readCursor(asked({ cursor }, dialect))).toBeUndefined();
  expect(readObject(asked({ arguments: null }, dialect), "arguments")).toEqual({ value: {} });
  expect(readStrings(asked({ arguments: null }, dialect), "arguments")).toEqual({ value: {} });
  for (const cursor of [5, {}, false]) expect(readCursor(asked({ cursor }, dialect))).toMatchObject(refused("cursor"));
  for (const value of [5, [], "text", false])
    expect(readObject(asked({ arguments: value }, dialect), "arguments")).toMatchObject(refused("arguments"));
});
