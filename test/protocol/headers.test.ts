// The request metadata headers of 2026-07-28.
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { errorCode } from "../../src/protocol/errors.ts";
import {
  checkParamHeaders,
  checkStandardHeaders,
  collectParamHeaders,
  decodeHeaderValue,
  encodeHeaderValue,
  paramHeaders,
  standardHeaders,
  type ParamHeader,
} from "../../src/protocol/headers.ts";
import type { JsonObject } from "../../src/protocol/jsonrpc.ts";
import { SEED } from "../support/seed.ts";

const sentinel = (text: string) => `=?base64?${Buffer.from(text).toString("base64")}?=`;

describe("a header value", () => {
  test.each<[string, string]>([
    ["us-west1", "us-west1"],
    ["", ""],
    ["a b\tc", "a b\tc"],
    ["=?base64?SGVsbG8=?=", "Hello"],
    ["=?base64?SGVsbG8sIOS4lueVjA==?=", "Hello, 世界"],
    ["=?base64?IHBhZGRlZCA=?=", " padded "],
    ["=?base64?bGluZTEKbGluZTI=?=", "line1\nline2"],
    ["=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=", "=?base64?literal?="],
    ["=?base64??=", ""],
    ["=?base64?SGVsbG8=", "=?base64?SGVsbG8="],
    ["=?base64?=", "=?base64?="],
    ["=?BASE64?SGVsbG8=?=", "=?BASE64?SGVsbG8=?="],
    ["=?Base64?SGVsbG8=?=", "=?Base64?SGVsbG8=?="],
    ["SGVsbG8=", "SGVsbG8="],
    ["x=?base64?SGVsbG8=?=", "x=?base64?SGVsbG8=?="],
  ])("%j reads %j", (value, expected) => {
    expect(decodeHeaderValue(value)).toBe(expected);
  });

  test.each([
    ["padding that is missing", "=?base64?SGVsbG8?="],
    ["padding that is too long", "=?base64?SGVsbG8==?="],
    ["padding alone", "=?base64?====?="],
    ["padding in the middle", "=?base64?SG=sbG8=?="],
    ["characters outside the alphabet", "=?base64?SGVs!!!bG8=?="],
    ["the alphabet of URLs", "=?base64?-_-_?="],
    ["white space", "=?base64?SGVs bG8=?="],
    ["bytes that are no UTF-8", "=?base64?/w==?="],
    ["an overlong encoding", "=?base64?wIA=?="],
    ["an encoded surrogate", "=?base64?7aCA?="],
    ["a character beyond ASCII", "é"],
    ["a control character", "a\u0000b"],
    ["a delete", "a\u007f"],
    ["a line break", "a\nb"],
  ])("with %s is no value", (_what, value) => {
    expect(decodeHeaderValue(value)).toBeUndefined();
  });

  test("any text survives its Base64 form", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(decodeHeaderValue(sentinel(text))).toBe(text);
      }),
      SEED,
    );
  });

  test("printable ASCII is itself unless it has the Base64 form", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme-ascii" }), (text) => {
        fc.pre(!text.startsWith("=?base64?"));
        expect(decodeHeaderValue(text)).toBe(text);
      }),
      SEED,
    );
  });
});

describe("a value that is written into a header", () => {
  test.each([
    ["us-west1", "us-west1"],
    ["a  b", "a  b"],
    ["", "=?base64??="],
    ["Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="],
    [" padded ", "=?base64?IHBhZGRlZCA=?="],
    ["line1\nline2", "=?base64?bGluZTEKbGluZTI=?="],
    ["=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="],
    ["=?base64?", "=?base64?"],
    ["half \ud83d", sentinel("half \ufffd")],
  ])("%j is written as %j", (value, written) => {
    expect(encodeHeaderValue(value)).toBe(written);
  });

  test("a written value is read again, and fits a header", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const written = encodeHeaderValue(text);
        expect(written).toMatch(/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/);
        expect(decodeHeaderValue(written)).toBe(text);
      }),
      SEED,
    );
  });
});

describe("standard headers", () => {
  const check = (params: JsonObject, name: string | null) =>
    checkStandardHeaders("tools/call", params, { method: "tools/call", name });

  test("match plainly or in Base64", () => {
    expect(check({ name: "add" }, "add")).toBeUndefined();
    expect(check({ name: "add" }, sentinel("add"))).toBeUndefined();
    expect(check({ name: "größe 世界" }, sentinel("größe 世界"))).toBeUndefined();
    expect(check({ name: " padded " }, sentinel(" padded "))).toBeUndefined();
    expect(check({ name: "=?base64?YQ==?=" }, sentinel("=?base64?YQ==?="))).toBeUndefined();
  });

  test.each<[JsonObject, string | null]>([
    [{ name: "add" }, null],
    [{ name: "add" }, ""],
    [{ name: "add" }, "Add"],
    [{ name: "add" }, sentinel("sub")],
    [{ name: "add" }, "=?base64?YWRk?"],
    [{ name: "add" }, "=?base64?YWRkYQ?="],
    [{ name: "größe" }, "gr��e"],
  ])("%j and Mcp-Name %j do not match", (params, name) => {
    const fault = check(params, name);
    expect(fault).toMatchObject({
      error: "headerMismatch",
      message: expect.stringMatching(/^Header mismatch: Mcp-Name/),
    });
    expect(errorCode("headerMismatch", "2026")).toBe(-32020);
  });

  test.each<[string, JsonObject, Record<string, string>]>([
    ["tools/call", { name: "größe" }, { "mcp-method": "tools/call", "mcp-name": sentinel("größe") }],
    ["prompts/get", { name: "plan" }, { "mcp-method": "prompts/get", "mcp-name": "plan" }],
    ["resources/read", { uri: "note://1", name: "x" }, { "mcp-method": "resources/read", "mcp-name": "note://1" }],
    ["tools/list", { name: "x" }, { "mcp-method": "tools/list" }],
    ["tools/call", { name: 5 }, { "mcp-method": "tools/call" }],
  ])("%s with %j are written so that they match", (method, params, headers) => {
    expect(standardHeaders(method, params)).toEqual(headers);
    const given = { method: headers["mcp-method"] ?? null, name: headers["mcp-name"] ?? null };
    expect(checkStandardHeaders(method, params, given)).toBeUndefined();
  });

  test("a name that is no string is left to the method, whatever the header", () => {
    expect(check({ name: 5 }, null)).toBeUndefined();
    expect(check({}, null)).toBeUndefined();
  });

  test("the method is compared exactly and never decoded", () => {
    expect(checkStandardHeaders("ping", {}, { method: "ping", name: null })).toBeUndefined();
    for (const method of [null, "", "PING", " ping", sentinel("ping")]) {
      expect(checkStandardHeaders("ping", {}, { method, name: null })).toMatchObject({ error: "headerMismatch" });
    }
  });

  test("methods named like members of every object have no mirrored name", () => {
    for (const method of ["constructor", "toString", "hasOwnProperty"]) {
      expect(checkStandardHeaders(method, {}, { method, name: null })).toBeUndefined();
    }
  });
});

describe("parameter headers", () => {
  const REGION: ParamHeader = { header: "Region", path: ["region"], type: "string" };
  const LEVEL: ParamHeader = { header: "Level", path: ["at", "level"], type: "integer" };
  const DRY: ParamHeader = { header: "Dry", path: ["dry"], type: "boolean" };

  /** Headers by lower-case name, as HTTP finds them. */
  const check = (mirrored: readonly ParamHeader[], args: JsonObject, headers: Record<string, string>) =>
    checkParamHeaders(mirrored, args, (name) => headers[name.toLowerCase()] ?? null);

  test.each<[JsonObject, string]>([
    [{ region: "Hello" }, "Hello"],
    [{ region: "Hello" }, "=?base64?SGVsbG8=?="],
    [{ region: "SGVsbG8=" }, "SGVsbG8="],
    [{ region: "=?base64?SGVsbG8=" }, "=?base64?SGVsbG8="],
    [{ region: "" }, ""],
    [{ region: "世界" }, sentinel("世界")],
    [{ region: "true" }, "true"],
  ])("the text of %j is mirrored by %j", (args, value) => {
    expect(check([REGION], args, { "mcp-param-region": value })).toBeUndefined();
  });

  test.each<[JsonObject, Record<string, string>]>([
    [{ region: "test-value" }, {}],
    [{ region: "Hello" }, { "mcp-param-region": "hello" }],
    [{ region: "Hello" }, { "mcp-param-region": "=?base64?SGVsbG8?=" }],
    [{ region: "Hello" }, { "mcp-param-region": "=?base64?SGVs!!!bG8=?=" }],
    [{ region: "世界" }, { "mcp-param-region": "世界" }],
    [{ region: null }, { "mcp-param-region": "null" }],
    [{}, { "mcp-param-region": "" }],
    [{}, { "mcp-param-region": "x" }],
  ])("%j and %j do not match", (args, headers) => {
    expect(check([REGION], args, headers)).toMatchObject({
      error: "headerMismatch",
      message: expect.stringContaining("Mcp-Param-Region"),
    });
  });

  test.each<[JsonObject, Record<string, string>]>([
    [
      { region: "世界", at: { level: 7 }, dry: false },
      { region: sentinel("世界"), level: "7", dry: "false" },
    ],
    [{ region: null, at: { level: null } }, {}],
    [{ region: ["x"], at: [{ level: 1 }] }, {}],
    [{}, {}],
  ])("%j are written so that they match", (args, values) => {
    const headers = Object.fromEntries(Object.entries(values).map(([name, value]) => [`mcp-param-${name}`, value]));
    expect(paramHeaders([REGION, LEVEL, DRY], args)).toEqual(headers);
    if (Object.keys(values).length > 0) expect(check([REGION, LEVEL, DRY], args, headers)).toBeUndefined();
  });

  test("arguments that are no object are mirrored by nothing", () => {
    for (const args of [undefined, null, "region", ["region"]]) expect(paramHeaders([REGION], args)).toEqual({});
  });

  test("absent and null values expect no header", () => {
    expect(check([REGION, LEVEL, DRY], {}, {})).toBeUndefined();
    expect(check([REGION, LEVEL, DRY], { region: null, at: { level: null }, dry: null }, {})).toBeUndefined();
    expect(check([LEVEL], { at: "elsewhere" }, {})).toBeUndefined();
    expect(check([LEVEL], { at: [{ level: 1 }] }, {})).toBeUndefined();
  });

  test.each([
    [42, "42"],
    [42, "42.0"],
    [42, "042"],
    [-7, "-7"],
    [0, "0"],
    [0, "-0"],
    [42, sentinel("42")],
    [Number.MAX_SAFE_INTEGER, "9007199254740991"],
  ])("the number %d equals the header %j", (level, value) => {
    expect(check([LEVEL], { at: { level } }, { "mcp-param-level": value })).toBeUndefined();
  });

  test.each([
    [42, "43"],
    [42, "42x"],
    [0, ""],
    [0, " "],
    [1, "true"],
    [42, "4 2"],
    [42, "42,42"],
  ])("the number %d is not the header %j", (level, value) => {
    expect(check([LEVEL], { at: { level } }, { "mcp-param-level": value })).toMatchObject({ error: "headerMismatch" });
  });

  test("a boolean is mirrored in lower case", () => {
    expect(check([DRY], { dry: true }, { "mcp-param-dry": "true" })).toBeUndefined();
    expect(check([DRY], { dry: false }, { "mcp-param-dry": "false" })).toBeUndefined();
    for (const value of ["True", "1", "false", ""]) {
      expect(check([DRY], { dry: true }, { "mcp-param-dry": value })).toMatchObject({ error: "headerMismatch" });
    }
  });

  test("a header without a mirrored parameter is ignored", () => {
    expect(check([], { region: "a" }, { "mcp-param-region": "b" })).toBeUndefined();
  });

  test("a path never leaves the arguments' own members", () => {
    const inherited: ParamHeader = { header: "X", path: ["constructor", "name"], type: "string" };
    expect(check([inherited], {}, {})).toBeUndefined();
  });
});

describe("collecting from a schema", () => {
  const collect = (properties: JsonObject) => collectParamHeaders({ type: "object", properties });
  const mark = (header: unknown, type: unknown = "string") => ({ type, "x-mcp-header": header });
  const untyped = { "x-mcp-header": "P" };

  test("finds annotated properties at every depth of properties", () => {
    const found = collect({
      region: mark("Region"),
      query: { type: "string" },
      at: {
        type: "object",
        properties: { level: mark("Level", "integer"), deeper: { properties: { dry: mark("Dry", "boolean") } } },
      },
    });
    expect(found).toEqual([
      { header: "Region", path: ["region"], type: "string" },
      { header: "Level", path: ["at", "level"], type: "integer" },
      { header: "Dry", path: ["at", "deeper", "dry"], type: "boolean" },
    ]);
  });

  test("finds nothing where nothing is annotated", () => {
    expect(collectParamHeaders({ type: "object" })).toEqual([]);
    expect(collect({ a: { type: "string" }, b: true, c: { properties: [] } })).toEqual([]);
  });

  test("a property may itself be called x-mcp-header", () => {
    expect(collect({ "x-mcp-header": { type: "string" } })).toEqual([]);
    expect(collect({ "x-mcp-header": mark("H") })).toEqual([{ header: "H", path: ["x-mcp-header"], type: "string" }]);
  });

  test.each(["a", "X-Y_z.0", "!#$%&'*+-.^_`|~", "9"])("%j is a name", (name) => {
    expect(collect({ p: mark(name) })).toEqual([{ header: name, path: ["p"], type: "string" }]);
  });

  test.each([[""], ["a b"], ["a:b"], ["a\r\nb"], ["é"], ["(a)"], [5], [["a"]]])("%j is no name", (name) => {
    expect(collect({ p: mark(name) })).toEqual({ broken: expect.stringContaining("p: ") });
  });

  test("a property without a type is not mirrored", () => {
    expect(collect({ p: untyped })).toEqual({ broken: expect.stringContaining("p: ") });
  });

  test.each([["number"], ["object"], ["array"], ["null"], [["string", "null"]]])(
    "a property of the type %j is not mirrored",
    (type) => {
      expect(collect({ p: mark("P", type) })).toEqual({ broken: expect.stringContaining("p: ") });
    },
  );

  test("names differ whatever their case, at whatever depth", () => {
    const nested = { type: "object", properties: { b: mark("REGION") } };
    expect(collect({ a: mark("Region"), b: mark("Region") })).toHaveProperty("broken");
    expect(collect({ a: mark("Region"), nested })).toHaveProperty("broken");
    expect(collect({ a: mark("Region"), b: mark("Regions") })).toHaveLength(2);
  });

  test("a property that breaks the rule is named by its path", () => {
    expect(collect({ at: { type: "object", properties: { level: mark("Level", "number") } } })).toEqual({
      broken: expect.stringContaining("at.level"),
    });
  });
});
