import { describe, expect, it } from "vitest";
import * as z from "zod";
import * as mini from "zod/mini";
import "../../src/zod-mini.ts";
import { MAX_VIOLATIONS } from "../../src/handlers/schema-keywords.ts";
import { compileSchema, objectSchema, type AnySchema } from "../../src/handlers/schema.ts";

async function judge(schema: AnySchema, value: unknown) {
  const judged = await compileSchema(schema).validate(value);
  return "value" in judged
    ? { value: judged.value }
    : judged.violations.map(({ path, expected, received }) => [path, expected, received]);
}

const forms: [string, AnySchema][] = [
  [
    "zod",
    z.object({ name: z.string(), size: z.number().default(10), at: z.object({ x: z.number().default(1) }).optional() }),
  ],
  [
    "zod/mini",
    mini.object({
      name: mini.string(),
      size: mini._default(mini.number(), 10),
      at: mini.optional(mini.object({ x: mini._default(mini.number(), 1) })),
    }),
  ],
  [
    "JSON Schema",
    {
      type: "object",
      properties: {
        name: { type: "string" },
        size: { type: "number", default: 10 },
        at: { type: "object", properties: { x: { type: "number", default: 1 } } },
      },
      required: ["name"],
    },
  ],
];

describe.each(forms)("%s", (_form, schema) => {
  it("passes what fits and fills in defaults, inside too", async () => {
    expect(await judge(schema, { name: "a" })).toEqual({ value: { name: "a", size: 10 } });
    expect(await judge(schema, { name: "a", size: 3, at: {} })).toEqual({
      value: { name: "a", size: 3, at: { x: 1 } },
    });
  });

  it("says where it breaks and what was received", async () => {
    const broken = await judge(schema, { name: 7, at: { x: "one" } });
    expect(broken).toEqual([
      ["name", expect.stringContaining("string"), "number"],
      ["at.x", expect.stringContaining("number"), "string"],
    ]);
    expect(await judge(schema, {})).toEqual([["name", expect.any(String), "nothing"]]);
    expect(await judge(schema, null)).toEqual([["", expect.stringContaining("object"), "null"]]);
  });

  it("lists itself as a JSON Schema of type object", () => {
    const { json } = compileSchema(schema);
    expect(json).toMatchObject({
      type: "object",
      properties: { name: { type: "string" }, size: { type: "number", default: 10 } },
      required: ["name"],
    });
  });

  it("reports a bounded number of violations", async () => {
    const list = "~standard" in schema ? z.array(z.string()) : { type: "array", items: { type: "string" } };
    expect(await judge(list, Array(500).fill(1))).toHaveLength(MAX_VIOLATIONS);
  });
});

describe("zod", () => {
  it("gives the handler what it makes of the value", async () => {
    expect(await judge(z.object({ n: z.string().transform(Number) }), { n: "7" })).toEqual({ value: { n: 7 } });
  });

  it("may take its time", async () => {
    const slow = z.string().refine(async (text) => text === "right", "is wrong");
    expect(await judge(slow, "right")).toEqual({ value: "right" });
    expect(await judge(slow, "wrong")).toEqual([["", "custom", "string"]]);
  });

  it("carries what an author hangs on a member into the listing", () => {
    const schema = z.object({ region: z.string().meta({ "x-mcp-header": "Region" }) });
    expect(compileSchema(schema).json).toMatchObject({ properties: { region: { "x-mcp-header": "Region" } } });
  });

  it("puts the message behind the path", async () => {
    const judged = await compileSchema(z.object({ a: z.array(z.number().min(3)) })).validate({ a: [5, 1] });
    expect("violations" in judged && judged.violations[0]?.message).toMatch(/^a\.1: /);
  });
});

describe("zod/mini", () => {
  it("lists itself as zod does, with what an author hangs on a member", () => {
    const described = { description: "Where it is kept.", "x-mcp-header": "Region" };
    const schema = mini.object({ region: mini.string().check(mini.minLength(2), mini.meta(described)) });
    const same = z.object({ region: z.string().min(2).meta(described) });
    expect(compileSchema(schema).json).toEqual(compileSchema(same).json);
  });

  it("says what is wrong in words, which it does not bring", async () => {
    const judged = await compileSchema(mini.object({ a: mini.string().check(mini.minLength(3)) })).validate({ a: "x" });
    expect("violations" in judged && judged.violations[0]?.message).toMatch(/^a: Too small/);
  });
});

describe("another Standard Schema", () => {
  const about = { version: 1, vendor: "home-made" } as const;

  it("works when it can validate, with keys in either form", async () => {
    const validate = () => ({ issues: [{ message: "no", path: ["a", { key: 0 }] }] });
    expect(await judge({ "~standard": { ...about, validate } }, { a: [true] })).toEqual([["a.0", "valid", "boolean"]]);
  });

  it("cannot be listed when it has no JSON form, and says who made it", () => {
    const compiled = compileSchema({ "~standard": { ...about, validate: (value) => ({ value }) } });
    expect(() => compiled.json).toThrow("home-made cannot write this schema as JSON Schema");
  });
});

describe("JSON Schema", () => {
  it("is listed unmodified", async () => {
    const schema = { type: "object", properties: { a: { $ref: "#/$defs/a" } }, $defs: { a: { type: "string" } } };
    const before = structuredClone(schema);
    const compiled = compileSchema(schema);
    await compiled.validate({ a: 1 });
    expect(compiled.json).toBe(schema);
    expect(compiled.json).toEqual(before);
  });

  it("is checked when it is defined, not when it is first used", () => {
    expect(() => compileSchema({ $ref: "https://example.com/" })).toThrow("leaves the schema");
    expect(() => compileSchema({ $schema: "x" })).toThrow("dialect");
  });
});

describe("objectSchema", () => {
  it("adds the type that a bare schema lacks, and leaves a whole one as it is", () => {
    const whole = { type: "object" };
    expect(objectSchema(whole)).toBe(whole);
    expect(objectSchema({ properties: {} })).toEqual({ type: "object", properties: {} });
  });
});
