// Our writer of zod schemas, held against zod's own. They may differ only where the last group says so.

import { describe, expect, it } from "vitest";
import * as z from "zod/mini";
import { compileJsonSchema } from "../../src/calls/json-schema.ts";
import { writeZod } from "../../src/calls/zod-json-schema.ts";

type Node = { name: string; children: Node[] };
const node: z.ZodMiniType<Node> = z.object({ name: z.string(), children: z.array(z.lazy(() => node)) });
const inner: z.ZodMiniType = z.object({ again: z.optional(z.lazy(() => inner)) });

const alike: readonly [string, z.ZodMiniType][] = [
  ["any", z.any()],
  ["never", z.never()],
  ["null", z.null()],
  ["a text within bounds", z.string().check(z.minLength(2), z.maxLength(9), z.minLength(1))],
  ["a text of one length", z.string().check(z.length(4))],
  ["a pattern", z.string().check(z.regex(/^a+$/))],
  ["two patterns", z.string().check(z.startsWith("a"), z.includes("b"))],
  ["small letters", z.string().check(z.lowercase())],
  ["an address", z.email()],
  ["a URL", z.url()],
  ["a UUID", z.uuid()],
  ["a GUID", z.guid()],
  ["a date", z.iso.date()],
  ["a time", z.iso.time()],
  ["a moment", z.iso.datetime()],
  ["a local moment", z.iso.datetime({ local: true })],
  ["a moment without seconds", z.iso.datetime({ precision: -1 })],
  ["an IPv4 address", z.ipv4()],
  ["a format as a check", z.string().check(z.email(), z.maxLength(60))],
  ["a number", z.number()],
  ["a number within bounds", z.number().check(z.gte(1), z.lt(9), z.multipleOf(0.5))],
  ["a number that leaves its bound out", z.number().check(z.gte(1), z.gt(1))],
  ["a number with two divisors", z.number().check(z.multipleOf(2), z.multipleOf(3))],
  ["a whole number", z.int()],
  ["32 bits with a bound", z.int32().check(z.positive())],
  ["unsigned", z.uint32()],
  ["a short float", z.float32()],
  ["an enum", z.enum(["a", "b"])],
  ["an enum of numbers", z.enum({ One: 1, Two: 2 })],
  ["a mixed enum", z.enum({ One: 1, Two: "two" })],
  ["a literal", z.literal("a")],
  ["null as a literal", z.literal(null)],
  ["literals", z.literal(["a", "b"])],
  ["mixed literals", z.literal(["a", 1])],
  ["a template", z.templateLiteral(["a-", z.int()])],
  ["a list within bounds", z.array(z.string()).check(z.minLength(1), z.maxLength(3))],
  ["a tuple", z.tuple([z.string(), z.optional(z.number())])],
  ["a tuple with a rest", z.tuple([z.string()], z.number())],
  ["an object", z.object({ a: z.string(), b: z.optional(z.number()) })],
  ["a strict object", z.strictObject({ a: z.string() })],
  ["an object with others", z.catchall(z.object({ a: z.string() }), z.number())],
  ["a loose object", z.looseObject({ a: z.string() })],
  ["an empty object", z.object({})],
  ["a record", z.record(z.string(), z.number())],
  ["a record of an enum", z.record(z.enum(["a", "b"]), z.number())],
  ["a partial record", z.partialRecord(z.enum(["a", "b"]), z.number())],
  ["a record that need not be whole", z.record(z.enum(["a", "b"]), z.optional(z.number()))],
  ["alternatives", z.union([z.string(), z.object({ a: z.int() })])],
  ["alternatives of types", z.union([z.string(), z.number(), z.string()])],
  [
    "alternatives told apart",
    z.discriminatedUnion("k", [z.object({ k: z.literal("a") }), z.object({ k: z.literal("b"), n: z.int() })]),
  ],
  ["what may be null", z.nullable(z.string())],
  ["what may be null, within bounds", z.nullable(z.string().check(z.maxLength(3)))],
  ["an intersection", z.intersection(z.object({ a: z.string() }), z.object({ b: z.optional(z.int()) }))],
  ["an intersection of closed objects", z.intersection(z.strictObject({ a: z.int() }), z.strictObject({ b: z.int() }))],
  ["an intersection of others", z.intersection(z.string(), z.string().check(z.minLength(2)))],
  ["a default", z.object({ a: z._default(z.number(), 10) })],
  ["a default before it is read", z.object({ a: z.prefault(z.string(), "x") })],
  ["what is not optional", z.object({ a: z.nonoptional(z.optional(z.string())) })],
  ["what cannot be written", z.readonly(z.array(z.string()))],
  ["a pipe", z.object({ a: z.pipe(z.string(), z.string().check(z.minLength(1))) })],
  ["a recursive object", node],
  ["a member that is recursive", z.object({ tree: node, twice: z.optional(node), other: inner })],
  ["a description", z.string().check(z.describe("What it is."))],
  ["a description on what is optional", z.object({ a: z.optional(z.string().check(z.describe("Of a."))) })],
  ["further keywords", z.object({ a: z.string().check(z.meta({ title: "A", "x-mcp-header": "Region" })) })],
  ["a name like Object's", z.object({ constructor: z.string(), toString: z.optional(z.string()) })],
];

const inputs: readonly [string, z.ZodMiniType][] = [
  ["what is made into something else", z.object({ n: z.pipe(z.string(), z.transform(Number)) })],
  ["what is made before it is read", z.object({ n: z.pipe(z.transform(String), z.string()) })],
  ["its default", z.object({ n: z._default(z.pipe(z.string(), z.transform(Number)), 7) })],
];

function zodWrites(schema: z.ZodMiniType): unknown {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io: "input" });
  return JSON.parse(JSON.stringify(json));
}

describe("zod and we write the same of", () => {
  it.each([...alike, ...inputs])("%s", (_name, schema) => {
    expect(JSON.parse(JSON.stringify(writeZod(schema)))).toEqual(zodWrites(schema));
  });
});

describe("named schemas", () => {
  const point = z.object({ x: z.int() }).register(z.globalRegistry, { id: "Point", description: "Where." });
  const line = z.object({ from: point, to: z.optional(point) }).register(z.globalRegistry, { id: "Line" });

  it("stand once, by their name, the outermost too", () => {
    expect(writeZod(line)).toEqual({
      $ref: "#/$defs/Line",
      $defs: {
        Line: {
          type: "object",
          properties: { from: { $ref: "#/$defs/Point" }, to: { $ref: "#/$defs/Point" } },
          required: ["from"],
        },
        Point: {
          type: "object",
          properties: { x: { type: "integer", minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER } },
          required: ["x"],
          description: "Where.",
        },
      },
    });
  });
});

/** A schema with an id in zod's own registry, from which it goes with the schema. */
const idOf = <Schema extends z.ZodMiniType>(id: string, schema: Schema): Schema => {
  z.globalRegistry.add(schema, { id });
  return schema;
};

describe.each(["a/b", "x~y", "~1", "a b", "p%20q", "#", "ä", "__proto__", "constructor", "toString"])(
  "a schema named %j",
  (id) => {
    const schema = z.object({ a: idOf(id, z.string()), b: z.optional(z.int()) });
    const twice = z.object({ a: schema.shape.a, b: schema.shape.a });

    it("is referred to in a way that finds it", () => {
      for (const [written, right, wrong] of [
        [writeZod(schema), { a: "x", b: 1 }, { a: 1 }],
        [writeZod(twice), { a: "x", b: "x" }, { a: "x", b: 1 }],
      ] as const) {
        const json = JSON.parse(JSON.stringify(written)) as Record<string, unknown>;
        expect(Object.keys(json.$defs as object)).toEqual([id]);
        expect(compileJsonSchema(json)(right)).toEqual([]);
        expect(compileJsonSchema(json)(wrong)).toHaveLength(1);
      }
    });
  },
);

it("flags that change nothing of what a pattern means are left out", () => {
  expect(writeZod(z.string().check(z.regex(/^a+$/gu)))).toEqual({ type: "string", pattern: "^a+$" });
});

describe("what JSON cannot say is refused by its member", () => {
  const refused: readonly [string, z.ZodMiniType][] = [
    ["a value of type date", z.date()],
    ["a value of type bigint", z.bigint()],
    ["a literal of type bigint", z.literal(1n)],
    ["a value of type map", z.map(z.string(), z.string())],
    ["a value of type set", z.set(z.string())],
    ["a value of type undefined", z.undefined()],
    ["a value of type custom", z.custom()],
    ["the flags of /a/i", z.string().check(z.regex(/a/i))],
    ["the flags of /^a/m", z.string().check(z.minLength(2), z.regex(/^a/m))],
    ["the flags of /./su", z.string().check(z.regex(/b/), z.regex(/./su))],
    ["the flags of /[a&&b]/v", z.string().check(z.regex(/[a&&b]/v))],
    [
      "an intersection of closed objects with a common member",
      z.intersection(z.strictObject({ a: z.int() }), z.strictObject({ a: z.int(), b: z.int() })),
    ],
  ];

  it.each(refused)("%s", (what, schema) => {
    const within = z.object({ deep: z.array(z.object({ when: schema })) });
    expect(() => writeZod(within)).toThrow(`deep.when: ${what} cannot be written as JSON Schema`);
  });
});

it("two schemas with one id are refused, the second by its member", () => {
  const rule = "a second schema with the id Same cannot be written as JSON Schema";
  const beside = z.object({ a: idOf("Same", z.string()), b: idOf("Same", z.int()) });
  expect(() => writeZod(beside)).toThrow(`b: ${rule}`);
  const within = z.object({ a: idOf("Same", z.object({ b: idOf("Same", z.int()) })) });
  expect(() => writeZod(within)).toThrow(`a.b: ${rule}`);
});

describe("where we say less than zod", () => {
  it("keys that are numbers are not described", () => {
    expect(writeZod(z.record(z.number(), z.string()))).toEqual({
      type: "object",
      additionalProperties: { type: "string" },
    });
  });

  it("keys of another form in a loose record are not described", () => {
    const loose = z.looseRecord(z.string().check(z.regex(/^x-/)), z.string());
    expect(writeZod(loose)).toEqual({ type: "object" });
  });

  it("what is put in the place of a mistake is not told as a default", () => {
    expect(writeZod(z.catch(z.string(), "x"))).toEqual({ type: "string" });
  });
});
