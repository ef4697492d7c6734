// What a header mirrors is what an intermediary reads in it: decoded, in characters a header may have, in decimal.
import { describe, expect, test } from "vitest";
import { checkParamHeaders, checkStandardHeaders, collectParamHeaders } from "../../src/protocol/headers.ts";
import type { JsonObject } from "../../src/protocol/jsonrpc.ts";

describe("Mcp-Name", () => {
  const check = (name: string, header: string) =>
    checkStandardHeaders("tools/call", { name }, { method: "tools/call", name: header });

  test("is decoded before it is compared, also when it equals the name as it stands", () => {
    expect(check("=?base64?YWRk?=", "=?base64?YWRk?=")).toMatchObject({ error: "headerMismatch" });
  });

  test("has only characters that a header may have, also when it equals the name", () => {
    expect(check("größe", "größe")).toMatchObject({ error: "headerMismatch" });
    expect(check("a\u007f", "a\u007f")).toMatchObject({ error: "headerMismatch" });
  });
});

describe("a mirrored integer", () => {
  const check = (level: number, header: string) =>
    checkParamHeaders([{ header: "Level", path: ["level"], type: "integer" }], { level }, () => header);

  test.each([
    [42, "0x2A"],
    [42, "0b101010"],
    [42, "4.2e1"],
    [42, " 42 "],
    [42, "+42"],
    [42, "42."],
  ])("%d is not written %j", (level, header) => {
    expect(check(level, header)).toMatchObject({ error: "headerMismatch" });
  });

  test("is one that JSON and headers can both hold exactly", () => {
    expect(check(2 ** 53, "9007199254740993")).toMatchObject({ error: "headerMismatch" });
    expect(check(2 ** 53 - 1, "9007199254740991")).toBeUndefined();
  });
});

describe("x-mcp-header", () => {
  const MARK = { type: "string", "x-mcp-header": "Region" };

  test.each<[string, JsonObject]>([
    ["the root", { "x-mcp-header": "Region" }],
    ["items", { properties: { a: { type: "array", items: MARK } } }],
    ["prefixItems", { properties: { a: { type: "array", prefixItems: [MARK] } } }],
    ["oneOf", { oneOf: [{ properties: { a: MARK } }] }],
    ["anyOf of a property", { properties: { a: { anyOf: [MARK] } } }],
    ["allOf", { allOf: [{ properties: { a: MARK } }] }],
    ["not", { not: { properties: { a: MARK } } }],
    ["else", { if: {}, else: { properties: { a: MARK } } }],
    ["$defs", { properties: { a: { $ref: "#/$defs/a" } }, $defs: { a: MARK } }],
    ["additionalProperties", { additionalProperties: MARK }],
    ["patternProperties", { patternProperties: { "^a": MARK } }],
    ["dependentSchemas", { dependentSchemas: { a: { properties: { b: MARK } } } }],
  ])("under %s makes the definition invalid", (_where, schema) => {
    expect(collectParamHeaders({ type: "object", ...schema })).toEqual({ broken: expect.stringMatching(/./) });
  });

  test("is told by where it stands", () => {
    const nested = { properties: { a: { items: MARK } } };
    expect(collectParamHeaders(nested)).toEqual({ broken: expect.stringMatching(/^\/properties\/a\/items: /) });
    expect(collectParamHeaders({ "x-mcp-header": "A" })).toEqual({ broken: expect.stringMatching(/^the root: /) });
  });

  test.each<[string, JsonObject]>([
    ["a property's name", { properties: { "x-mcp-header": { type: "string" } } }],
    ["a definition's name", { $defs: { "x-mcp-header": { type: "string" } } }],
    ["a default", { properties: { a: { type: "object", default: { "x-mcp-header": 1 } } } }],
    ["a constant", { properties: { a: { const: { "x-mcp-header": "A" } } } }],
    ["an example", { properties: { a: { examples: [{ "x-mcp-header": "A" }] } } }],
    ["an enumerated value", { properties: { a: { enum: [{ "x-mcp-header": "A" }] } } }],
  ])("as %s is no annotation", (_where, schema) => {
    expect(collectParamHeaders({ type: "object", ...schema })).toEqual([]);
  });
});
