// Types only: `tsc` checks this file.

import { expect, expectTypeOf, it } from "vitest";
import type { FromJsonSchema } from "../../src/handlers/json-schema-type.ts";
import type { Infer } from "../../src/handlers/schema.ts";
import { defineTool } from "../../src/handlers/tool.ts";
import type { JsonObject } from "../../src/protocol/jsonrpc.ts";

it("a member has its type, and may be absent unless it is required or has a default", () => {
  const schema = {
    type: "object",
    properties: {
      text: { type: "string", minLength: 1 },
      count: { type: "integer" },
      many: { type: "number", default: 10 },
      tags: { type: "array", items: { type: "string" } },
      list: { type: "array" },
      deep: { type: "object", properties: { on: { type: "boolean" } }, required: ["on"] },
    },
    required: ["text", "deep"],
  } as const;
  expectTypeOf<Infer<typeof schema>>().toEqualTypeOf<{
    text: string;
    count?: number;
    many: number;
    tags?: string[];
    list?: unknown[];
    deep: { on: boolean };
  }>();
});

it("a value that is one of several is their union", () => {
  expectTypeOf<FromJsonSchema<{ enum: readonly ["a", "b"] }>>().toEqualTypeOf<"a" | "b">();
  expectTypeOf<FromJsonSchema<{ type: "string"; const: "a" }>>().toEqualTypeOf<"a">();
  expectTypeOf<FromJsonSchema<{ type: readonly ["string", "null"] }>>().toEqualTypeOf<string | null>();
  expectTypeOf<FromJsonSchema<{ anyOf: readonly [{ type: "string" }, { type: "null" }] }>>().toEqualTypeOf<
    string | null
  >();
  expectTypeOf<
    FromJsonSchema<{
      oneOf: readonly [
        {
          type: "object";
          properties: { kind: { const: "a" }; a: { type: "string" } };
          required: readonly ["kind", "a"];
        },
        { type: "object"; properties: { kind: { const: "b" } }; required: readonly ["kind"] },
      ];
    }>
  >().toEqualTypeOf<{ kind: "a"; a: string } | { kind: "b" }>();
});

it("members by name have the type of all others", () => {
  type Numbers = FromJsonSchema<{ type: "object"; additionalProperties: { type: "number" } }>;
  expectTypeOf<Numbers>().toEqualTypeOf<Record<string, number>>();
  expectTypeOf<FromJsonSchema<{ type: "object" }>>().toEqualTypeOf<Record<string, unknown>>();
  const none = { type: "object", properties: {} } as const;
  expectTypeOf<FromJsonSchema<typeof none>>().toEqualTypeOf<Record<string, unknown>>();
});

it("a member without a type is unknown", () => {
  expectTypeOf<FromJsonSchema<JsonObject>>().toEqualTypeOf<unknown>();
  expectTypeOf<FromJsonSchema<{ type: string }>>().toEqualTypeOf<unknown>();
  const anything = {} as const;
  expectTypeOf<FromJsonSchema<typeof anything>>().toEqualTypeOf<unknown>();
});

it("a handler has the types of a schema that is written in place, and any names of one that is made", () => {
  const written = defineTool({
    name: "written",
    input: { type: "object", properties: { a: { type: "number" }, b: { type: "string" } }, required: ["a"] },
    handler: (args) => {
      expectTypeOf(args).toEqualTypeOf<{ a: number; b?: string }>();
      return "";
    },
  });
  const made: JsonObject = JSON.parse('{"type":"object"}') as JsonObject;
  const unknown = defineTool({
    name: "made",
    input: made,
    handler: (args) => {
      expectTypeOf(args).toEqualTypeOf<Record<string, unknown>>();
      return "";
    },
  });
  const none = defineTool({
    name: "none",
    handler: (args) => {
      expectTypeOf(args).toEqualTypeOf<Record<string, unknown>>();
      return "";
    },
  });
  expect([written, unknown, none].map(({ name }) => name)).toEqual(["written", "made", "none"]);
});
