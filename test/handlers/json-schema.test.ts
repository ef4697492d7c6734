import { describe, expect, it } from "vitest";
import { applyDefaults, compileJsonSchema } from "../../src/handlers/json-schema.ts";
import { MAX_VIOLATIONS } from "../../src/handlers/schema-keywords.ts";

function violations(schema: Record<string, unknown>, value: unknown) {
  return compileJsonSchema(schema)(value).map(({ path, expected, received }) => [path, expected, received]);
}

describe("violations", () => {
  const person = {
    type: "object",
    properties: {
      name: { type: "string", minLength: 2 },
      age: { type: ["integer", "null"] },
      role: { enum: ["user", "admin"] },
      address: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
      tags: { type: "array", items: { type: "string" }, maxItems: 3 },
      "a/b~c%": { type: "string" },
    },
    required: ["name"],
    additionalProperties: false,
  };

  it.each([
    [{ name: "Ada" }, []],
    [{}, [["name", "required", "nothing"]]],
    [{ name: 7 }, [["name", "expected string", "number"]]],
    [{ name: "A" }, [["name", "must satisfy minLength 2", "string"]]],
    [{ name: "Ada", age: "7" }, [["age", "expected integer or null", "string"]]],
    [{ name: "Ada", role: "root" }, [["role", 'must satisfy enum ["user","admin"]', "string"]]],
    [{ name: "Ada", address: {} }, [["address.city", "required", "nothing"]]],
    [{ name: "Ada", address: { city: null } }, [["address.city", "expected string", "null"]]],
    [
      { name: "Ada", tags: ["a", 1, []] },
      [
        ["tags.1", "expected string", "number"],
        ["tags.2", "expected string", "array"],
      ],
    ],
    [{ name: "Ada", tags: ["a", "b", "c", "d"] }, [["tags", "must satisfy maxItems 3", "array"]]],
    [{ name: "Ada", "a/b~c%": 1 }, [["a/b~c%", "expected string", "number"]]],
    [{ name: "Ada", extra: 1 }, [["extra", "not allowed", "number"]]],
    [7, [["", "expected object", "number"]]],
  ])("of %j", (value, expected) => {
    expect(violations(person, value)).toEqual(expected);
  });

  it("say the whole in one message", () => {
    expect(compileJsonSchema(person)({ name: 7 })[0]?.message).toBe("name: expected string, received number");
    expect(compileJsonSchema(person)([])[0]?.message).toBe("arguments: expected object, received array");
  });

  it("name the rule behind a $ref", () => {
    const schema = {
      properties: { a: { $ref: "#/$defs/text" }, b: { $ref: "#/$defs/list" } },
      $defs: { text: { type: "string" }, list: { type: "array", items: { $ref: "#/$defs/text" } } },
    };
    expect(violations(schema, { a: 1, b: ["x", 2] })).toEqual([
      ["a", "expected string", "number"],
      ["b.1", "expected string", "number"],
    ]);
  });

  it("come from every branch of a choice", () => {
    const schema = { properties: { a: { anyOf: [{ type: "string" }, { type: "number" }] } } };
    expect(violations(schema, { a: 1 })).toEqual([]);
    expect(violations(schema, { a: {} }).map(([path]) => path)).toEqual(["a", "a", "a"]);
  });

  it("do not take an inherited member for a given one", () => {
    const schema = { properties: { x: { type: "string" } }, additionalProperties: false };
    expect(violations(schema, JSON.parse('{"__proto__":{"x":1}}')).map(([path]) => path)).toEqual(["__proto__"]);
  });
});

describe("dialects", () => {
  it.each([
    undefined,
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2020-12/schema#",
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema#",
    "http://json-schema.org/draft-04/schema#",
  ])("%s is served", ($schema) => {
    const schema = { ...($schema === undefined ? {} : { $schema }), type: "string" };
    expect(violations(schema, 1)).toEqual([["", "expected string", "number"]]);
    expect(violations(schema, "x")).toEqual([]);
  });

  it("differ in what a list of schemas under items means", () => {
    const pair = (draft: string) => ({ $schema: draft, items: [{ type: "string" }] });
    expect(violations(pair("http://json-schema.org/draft-07/schema#"), [1])).toHaveLength(1);
    const prefix = { prefixItems: [{ type: "string" }], items: false };
    expect(violations(prefix, ["a"])).toEqual([]);
    expect(violations(prefix, ["a", "b"])).toHaveLength(1);
  });

  it.each(["https://json-schema.org/draft/2030-01/schema", "http://json-schema.org/draft-03/schema#", "constructor"])(
    "%s is refused by name",
    ($schema) => {
      expect(() => compileJsonSchema({ $schema })).toThrow(`unsupported JSON Schema dialect ${$schema}`);
    },
  );
});

describe("a schema is refused", () => {
  it.each(["https://example.com/x.json", "http://localhost/", "other.json", "//host/x", "file:///etc/passwd", "urn:x"])(
    "when it points to %s, at any depth",
    ($ref) => {
      const rule = `$ref ${$ref} leaves the schema`;
      expect(() => compileJsonSchema({ $ref })).toThrow(rule);
      expect(() => compileJsonSchema({ properties: { a: { anyOf: [{}, { items: { $ref } }] } } })).toThrow(rule);
      expect(() => compileJsonSchema({ $defs: { unused: { $ref } } })).toThrow(rule);
    },
  );

  it("when it has too many subschemas", () => {
    const wide = (count: number) => ({ anyOf: Array.from({ length: count }, () => ({ type: "string" })) });
    expect(compileJsonSchema(wide(4999))("x")).toEqual([]);
    expect(() => compileJsonSchema(wide(5001))).toThrow("at most 5000 subschemas");
  });

  it("when it contains itself as an object", () => {
    const loop: Record<string, unknown> = { type: "object" };
    loop.properties = { again: loop };
    expect(() => compileJsonSchema(loop)).toThrow("properties: cannot be written as JSON");
  });
});

describe("the cost of a value", () => {
  const tree = {
    $ref: "#/$defs/node",
    $defs: { node: { type: "object", properties: { next: { $ref: "#/$defs/node" } } } },
  };

  it("follows a schema that recurs as deep as the value goes", () => {
    const nested = (depth: number, end: unknown): unknown => (depth === 0 ? end : { next: nested(depth - 1, end) });
    expect(violations(tree, nested(100, {}))).toEqual([]);
    expect(violations(tree, nested(100, 7))).toEqual([
      [Array(100).fill("next").join("."), "expected object", "number"],
    ]);
  });

  it("is bounded in faults reported", () => {
    const list = { type: "array", items: { type: "string" } };
    expect(violations(list, Array(500).fill(1))).toHaveLength(MAX_VIOLATIONS);
  });

  it("is bounded for a large value that is wrong everywhere", () => {
    const list = { properties: { items: { type: "array", items: { type: "object", required: ["a"] } } } };
    const wrong = compileJsonSchema(list)({ items: Array.from({ length: 1_000_000 }, () => ({})) });
    expect(wrong.map(({ path, expected }) => [path, expected])).toEqual([["items.0.a", "required"]]);
  });

  it("leaves the author's schema as it is, frozen or not", () => {
    const text = Object.freeze({ type: "string" });
    const schema = Object.freeze({ type: "object", properties: Object.freeze({ a: text, b: text }) });
    expect(violations(schema, { a: "x", b: 1 })).toEqual([["b", "expected string", "number"]]);
    expect(Object.getOwnPropertyNames(text)).toEqual(["type"]);
  });
});

describe("applyDefaults", () => {
  const schema = {
    properties: {
      size: { default: 10 },
      empty: { default: null },
      inner: { properties: { deep: { default: ["x"] } } },
      list: { items: { properties: { on: { default: true } } } },
      whole: { default: {}, properties: { ignored: { default: 1 } } },
    },
  };

  it("fills in what is absent, also inside what is there", () => {
    expect(applyDefaults(schema, { inner: {}, list: [{}, { on: false }, 7] })).toEqual({
      size: 10,
      empty: null,
      inner: { deep: ["x"] },
      list: [{ on: true }, { on: false }, 7],
      whole: {},
    });
  });

  it("keeps what was given, even null and undefined", () => {
    expect(applyDefaults(schema, { size: 0, empty: false, inner: null, whole: undefined })).toEqual({
      size: 0,
      empty: false,
      inner: null,
      whole: undefined,
    });
  });

  it.each([null, 7, "text", [1], undefined])("leaves %j alone", (value) => {
    expect(applyDefaults(schema, value)).toEqual(value);
  });

  it("changes neither the value nor the schema, and shares no default", () => {
    const value = Object.freeze({ inner: Object.freeze({}) });
    const first = applyDefaults(schema, value) as { inner: { deep: string[] } };
    first.inner.deep.push("changed");
    expect(applyDefaults(schema, value)).toMatchObject({ inner: { deep: ["x"] } });
    expect(value).toEqual({ inner: {} });
  });

  it("pollutes no prototype", () => {
    const hostile = {
      properties: { constructor: { properties: { prototype: { properties: { bad: { default: 1 } } } } } },
    };
    applyDefaults(hostile, JSON.parse('{"__proto__":{"bad":1}}'));
    applyDefaults(hostile, {});
    expect({}).not.toHaveProperty("bad");
    expect(applyDefaults({ properties: { toString: { default: "own" } } }, {})).toEqual({ toString: "own" });
  });
});

const REFERRING: readonly [what: string, schema: object, rule: string][] = [
  ["to nowhere", { $defs: {}, $ref: "#/$defs/none" }, "$ref #/$defs/none leads nowhere"],
  ["to no anchor", { properties: { a: { $ref: "#none" } } }, "properties.a: $ref #none leads nowhere"],
  ["to a text", { properties: { a: { title: "t", $ref: "#/properties/a/title" } } }, "properties.a: $ref"],
  ["to a list", { required: ["a"], properties: { a: { $ref: "#/required" } } }, "leads nowhere"],
  ["to the members of an object", { properties: { a: { $ref: "#/properties" } } }, "leads nowhere"],
  [
    "to itself",
    { properties: { a: { $ref: "#/properties/a" } } },
    "properties.a: its references are circular or too many",
  ],
  ["to the whole, for the whole", { $ref: "#" }, "its references are circular or too many"],
  [
    "in a circle",
    { $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } } },
    "$defs.a: its references are circular",
  ],
  ["in a circle through allOf", { $defs: { a: { allOf: [{}, { $ref: "#/$defs/a" }] } } }, "$defs.a: its references"],
  ["in a circle through not", { $defs: { a: { not: { $ref: "#/$defs/a" } } } }, "are circular or too many"],
  ["in a circle through else", { $defs: { a: { if: true, else: { $ref: "#/$defs/a" } } } }, "are circular or too many"],
  ["in a circle through dependentSchemas", { dependentSchemas: { a: { $ref: "#" } } }, "are circular or too many"],
  ["past two schemas with one $id", { properties: { a: { $id: "x:y" }, b: { $id: "x:y" } } }, "Duplicate schema URI"],
  ["past an $id that is none", { properties: { a: { $id: "http://[" } } }, "properties.a.$id: must be a URI"],
  ["past an anchor that is none", { properties: { a: { $anchor: "a b" } } }, "properties.a.$anchor: must be a name"],
  [
    "past two anchors of one name",
    { properties: { a: { $anchor: "x" }, b: { $anchor: "x" } } },
    "properties.a: $anchor x must not occur twice",
  ],
];

it.each(REFERRING)("a schema is refused that refers %s", (_what, schema, rule) => {
  expect(() => compileJsonSchema({ type: "object", ...schema })).toThrow(rule);
});

it("a schema is refused that applies itself to one value more often than anybody could wait for", () => {
  const twice = (at: number) => ({ allOf: [{ $ref: `#/$defs/a${at + 1}` }, { $ref: `#/$defs/a${at + 1}` }] });
  const $defs = Object.fromEntries(Array.from({ length: 40 }, (_none, at) => [`a${at}`, at < 39 ? twice(at) : {}]));
  expect(() => compileJsonSchema({ $defs })).toThrow("$defs.a0: its references are circular or too many");
});

it.each<[what: string, schema: object, rule: string]>([
  ["a pattern", { pattern: "(" }, "properties.a.pattern: must be a regular expression"],
  [
    "a pattern that needs no flag u",
    { pattern: "^[\\w-.]+$" },
    "properties.a.pattern: must be a regular expression with",
  ],
  ["a pattern of names", { patternProperties: { "[": {} } }, "properties.a.patternProperties: must be a regular"],
  ["a number that JSON has not", { minimum: Number.NaN }, "properties.a.minimum: must be a number, not null"],
  ["a format of every object", { format: "__proto__" }, "properties.a.format: must be a format"],
  ["another format of every object", { format: "toString" }, "properties.a.format: must be a format"],
  ["a default", { default: { n: 5n } }, "properties.a.default.n: cannot be written as JSON"],
  ["a constant", { const: 5n }, "properties.a.const: cannot be written as JSON"],
  ["a choice", { enum: ["x", 5n] }, "properties.a.enum.1: cannot be written as JSON"],
])("a schema is refused for an invalid %s", (_what, schema, rule) => {
  expect(() => compileJsonSchema({ properties: { a: schema } })).toThrow(rule);
});

describe("references", () => {
  const list = { type: "object", properties: { next: { $ref: "#" } } };

  it.each<[what: string, schema: Record<string, unknown>, right: unknown, wrong: unknown]>([
    ["to the whole", list, { next: { next: {} } }, { next: { next: 1 } }],
    ["to an anchor", { $ref: "#a", $defs: { x: { $anchor: "a", type: "string" } } }, "x", 1],
    ["to anything and nothing", { properties: { a: { $ref: "#/$defs/no" } }, $defs: { no: false } }, {}, { a: 1 }],
    ["under an unknown keyword", { $ref: "#/x/a", x: { a: { type: "string" } } }, "x", 1],
    ["past names that are escaped", { $ref: "#/$defs/a~1b%20c", $defs: { "a/b c": { type: "string" } } }, "x", 1],
    ["within a schema that has an $id", { $id: "x:y", $ref: "#/$defs/a", $defs: { a: { type: "string" } } }, "x", 1],
    ["of a dependency by names", { dependencies: { a: ["b"] } }, { a: 1, b: 1 }, { a: 1 }],
  ])("%s lead there", (_what, schema, right, wrong) => {
    expect(violations(schema, right)).toEqual([]);
    expect(violations(schema, wrong)).not.toEqual([]);
  });

  it("may lead to one schema from thousands", () => {
    const properties = Object.fromEntries(
      Array.from({ length: 4000 }, (_none, at) => [`p${at}`, { $ref: "#/$defs/a" }]),
    );
    expect(violations({ properties, $defs: { a: { type: "string" } } }, { p3999: 1 })).toHaveLength(1);
  });
});
