// The library's own validator is the reference.

import { Validator, type Schema, type SchemaDraft } from "@cfworker/json-schema";
import * as fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { compileJsonSchema } from "../../src/handlers/json-schema.ts";
import { SEED } from "../support/seed.ts";

type Members = Record<string, unknown>;

const DIALECTS = {
  "4": "http://json-schema.org/draft-04/schema#",
  "7": "http://json-schema.org/draft-07/schema#",
  "2019-09": "https://json-schema.org/draft/2019-09/schema",
  "2020-12": "https://json-schema.org/draft/2020-12/schema",
};
const NAMES = ["a", "b", "c", "ab"];

const answerOf = (schema: Members, value: unknown) => compileJsonSchema(schema)(value).map(({ message }) => message);

describe("a violation is reported once, by its rule", () => {
  test.each<[schema: Members, right: unknown, wrong: unknown, said: readonly string[]]>([
    [{ minimum: 1 }, 1, 0, ["arguments: must satisfy minimum 1, received number"]],
    [{ exclusiveMaximum: 1 }, 0, 1, ["arguments: must satisfy exclusiveMaximum 1, received number"]],
    [
      { $schema: DIALECTS["4"], minimum: 1, exclusiveMinimum: true },
      2,
      1,
      ["arguments: must satisfy minimum 1, received number"],
    ],
    [{ multipleOf: 0.01 }, 19.99, 19.999, ["arguments: must satisfy multipleOf 0.01, received number"]],
    [{ multipleOf: 1e-8 }, 1e300, 1.5e-8, ["arguments: must satisfy multipleOf 1e-8, received number"]],
    [{ maxLength: 1 }, "\u{1F600}", "ab", ["arguments: must satisfy maxLength 1, received string"]],
    [{ format: "email" }, "a@b.c", "a", ['arguments: must satisfy format "email", received string']],
    [{ format: "of nobody" }, "a", undefined, []],
    [
      { uniqueItems: true },
      [1, "1", {}, []],
      [1, { a: 1 }, { a: 1 }],
      ["arguments: must satisfy uniqueItems true, received array"],
    ],
    [
      { uniqueItems: true },
      [null, 0, false],
      [null, null],
      ["arguments: must satisfy uniqueItems true, received array"],
    ],
    [{ contains: { type: "string" } }, [1, "a"], [1, 2], ["arguments: must satisfy contains, received array"]],
    [
      { contains: { const: 1 }, minContains: 2 },
      [1, 1],
      [1, 2],
      ["arguments: must satisfy minContains 2, received array"],
    ],
    [
      { contains: { const: 1 }, maxContains: 1 },
      [1, 2],
      [1, 1],
      ["arguments: must satisfy maxContains 1, received array"],
    ],
    [{ contains: { const: 1 }, minContains: 0 }, [], undefined, []],
    [
      { propertyNames: { maxLength: 1 } },
      { a: 1 },
      { ab: 1 },
      ["arguments: must satisfy propertyNames, received object", "ab: must satisfy maxLength 1, received string"],
    ],
    [
      { patternProperties: { "^a": false } },
      { b: 1 },
      { ab: 1 },
      ["arguments: must satisfy patternProperties, received object", "ab: not allowed, received number"],
    ],
    [
      { dependentRequired: { a: ["b"] } },
      { a: 1, b: 1 },
      { a: 1 },
      ["arguments: must satisfy dependentRequired, received object"],
    ],
    [{ required: ['a"b'] }, { 'a"b': 1 }, {}, ['a"b: required, received nothing']],
    [{ allOf: [true, false] }, undefined, 1, ["arguments: not allowed, received number"]],
    [{ not: { type: "string" } }, 1, "a", ["arguments: must satisfy not, received string"]],
    [
      { oneOf: [{ minimum: 1 }, { minimum: 2 }] },
      1,
      3,
      ['arguments: must satisfy oneOf [{"minimum":1},{"minimum":2}], received number'],
    ],
    [
      // oxlint-disable-next-line unicorn/no-thenable
      { if: { minimum: 1 }, then: { maximum: 2 }, else: { const: 0 } },
      2,
      3,
      ["arguments: must satisfy if, received number", "arguments: must satisfy maximum 2, received number"],
    ],
    [
      { $schema: DIALECTS["7"], items: [{}], additionalItems: false },
      [1],
      [1, 2],
      ["arguments: must satisfy additionalItems false, received array", "1: not allowed, received number"],
    ],
    [
      { prefixItems: [{}], unevaluatedItems: false },
      [1],
      [1, 2],
      ["arguments: must satisfy unevaluatedItems false, received array", "1: not allowed, received number"],
    ],
    [
      { anyOf: [{ properties: { a: {} }, required: ["a"] }], unevaluatedProperties: false },
      { a: 1 },
      { a: 1, b: 1 },
      ["arguments: must satisfy unevaluatedProperties false, received object", "b: not allowed, received number"],
    ],
  ])("%j", (schema, right, wrong, messages) => {
    if (right !== undefined) expect(answerOf(schema, right)).toEqual([]);
    if (wrong !== undefined) expect(answerOf(schema, wrong)).toEqual(messages);
  });

  it("through a $recursiveRef and a $dynamicRef, where they can lead to one schema alone", () => {
    const tree = { $recursiveAnchor: true, properties: { next: { $recursiveRef: "#" } }, additionalProperties: false };
    const schema = { $schema: DIALECTS["2019-09"], ...tree };
    expect(answerOf(schema, { next: { next: {} } })).toEqual([]);
    expect(answerOf(schema, { next: { other: 1 } })).toEqual(["next.other: not allowed, received number"]);
    const astray = { ...schema, properties: { next: { $recursiveRef: "#/x" } } };
    expect(() => answerOf(astray, {})).toThrow("properties.next: $recursiveRef #/x leads nowhere");
    const two = { ...schema, $defs: { other: { $id: "other", $recursiveAnchor: true } } };
    expect(() => answerOf(two, {})).toThrow("properties.next: $recursiveRef # could lead to more than one schema");
    const list = { $dynamicAnchor: "list", properties: { next: { $dynamicRef: "#list" } }, required: ["next"] };
    expect(answerOf(list, { next: { next: 1 } })).toEqual([]);
    expect(answerOf(list, { next: {} })).toEqual(["next.next: required, received nothing"]);
    const lists = { ...list, $defs: { other: { $id: "other", $dynamicAnchor: "list" } } };
    expect(() => answerOf(lists, {})).toThrow("properties.next: $dynamicRef #list could lead to more than one schema");
  });
});

const value = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, depthSize: "small" },
    fc.constantFrom(null, true, 0, 1, 2, 1.5, -1, "", "a", "ab", "2020-01-01"),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom(...NAMES), tie("value"), { maxKeys: 4 }),
  ),
})).value;

const count = fc.nat({ max: 3 });
const names = fc.uniqueArray(fc.constantFrom(...NAMES), { maxLength: 3 });

const schemas = fc.letrec<{ schema: unknown; list: unknown[]; members: Members }>((tie) => ({
  list: fc.array(tie("schema"), { minLength: 1, maxLength: 3 }),
  members: fc.dictionary(fc.constantFrom(...NAMES), tie("schema"), { maxKeys: 3 }),
  schema: fc.oneof(
    { maxDepth: 3, depthSize: "small", withCrossShrink: true },
    fc.boolean(),
    fc.record(
      {
        type: fc.constantFrom(
          "string",
          "integer",
          "number",
          "object",
          "array",
          ["null", "boolean"],
          ["array", "object"],
        ),
        const: value,
        enum: fc.array(value, { minLength: 1, maxLength: 4 }),
        minimum: count,
        exclusiveMaximum: count,
        multipleOf: fc.constantFrom(0.5, 1, 2),
        minLength: count,
        maxLength: count,
        pattern: fc.constantFrom("^a", "b$", "."),
        minItems: count,
        maxItems: count,
        uniqueItems: fc.boolean(),
        minProperties: count,
        maxProperties: count,
        required: names,
        dependentRequired: fc.dictionary(fc.constantFrom(...NAMES), names, { maxKeys: 2 }),
        minContains: count,
        maxContains: count,
        contains: tie("schema"),
        items: tie("schema"),
        prefixItems: tie("list"),
        properties: tie("members"),
        patternProperties: tie("members"),
        additionalProperties: tie("schema"),
        propertyNames: tie("schema"),
        dependentSchemas: tie("members"),
        not: tie("schema"),
        anyOf: tie("list"),
        allOf: tie("list"),
        oneOf: tie("list"),
        if: tie("schema"),
        // oxlint-disable-next-line unicorn/no-thenable
        then: tie("schema"),
        else: tie("schema"),
        $ref: fc.constantFrom("#/$defs/a", "#/$defs/ab"),
      },
      { requiredKeys: [] },
    ),
  ),
})).schema;

test.each(Object.entries(DIALECTS))("any schema of draft %s allows what the library allows", (draft, $schema) => {
  const allowed = fc.property(schemas, fc.array(value, { minLength: 1, maxLength: 8 }), (generated, values) => {
    const $defs = { a: { type: "string" }, ab: { minimum: 1 } };
    const schema = { $schema, $defs, allOf: [generated] };
    const referee = new Validator(structuredClone(schema) as Schema, draft as SchemaDraft);
    const ours = compileJsonSchema(schema);
    expect(values.map((one) => ours(one).length === 0)).toEqual(values.map((one) => referee.validate(one).valid));
  });
  fc.assert(allowed, { ...SEED, numRuns: 200 });
});
