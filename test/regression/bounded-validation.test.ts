// Work that arguments may cause which a JSON Schema looks at: of a schema that refers to itself, of lists whose items have to
// differ, of texts. Counted in reads, for a timing says more of the machine.

import { expect, test } from "vitest";
import { compileJsonSchema } from "../../src/handlers/json-schema.ts";

/** How often the members of a value were read while it was looked at, and what was wrong. */
function readsOf(schema: Record<string, unknown>, make: (of: (members: object) => object) => unknown) {
  let reads = 0;
  const counted = (members: object) =>
    new Proxy(members, {
      get: (target, name) => {
        reads += 1;
        return Reflect.get(target, name) as unknown;
      },
    });
  const violations = compileJsonSchema(schema)(make(counted)).map(({ message }) => message);
  return { reads, violations };
}

const branch = (op: string) => ({
  type: "object",
  properties: { args: { type: "array", items: { $ref: "#/$defs/filter" } }, op: { const: op } },
  required: ["op", "args"],
});
const leaf = { type: "object", properties: { op: { const: "is" } }, required: ["op"], maxProperties: 1 };
const FILTER = {
  $ref: "#/$defs/filter",
  $defs: { filter: { anyOf: [branch("and"), branch("or"), branch("not"), leaf] } },
};

const filterOf = (depth: number, op: string, of: (members: object) => object): object =>
  of(depth === 0 ? { op: "is" } : { args: [filterOf(depth - 1, op, of)], op });

const DIALECT = "https://json-schema.org/draft/2019-09/schema";

test.each([
  ["by a reference", FILTER],
  ["by a reference, where other members are not to be there", { ...FILTER, unevaluatedProperties: false }],
  [
    "by itself",
    {
      $schema: DIALECT,
      $recursiveAnchor: true,
      anyOf: ["and", "or", "not"]
        .map((op) => ({ ...branch(op), properties: { args: { items: { $recursiveRef: "#" } }, op: { const: op } } }))
        .concat(leaf as never),
    },
  ],
])("a schema of choices that leads into itself %s reads each value a bounded number of times", (_how, schema) => {
  for (const op of ["not", "of nobody"]) {
    const short = readsOf(schema, (of) => filterOf(5, op, of));
    const long = readsOf(schema, (of) => filterOf(15, op, of));
    expect(long.reads).toBeLessThan(short.reads * 10);
    expect(long.violations.length === 0).toBe(op === "not");
    expect(short.violations.length === 0).toBe(op === "not");
  }
});

test("items that have to differ are not compared each with each", () => {
  const unlike = (length: number) =>
    readsOf({ uniqueItems: true }, (of) => Array.from({ length }, (_, index) => of({ index })));
  expect(unlike(100).violations).toEqual([]);
  expect(unlike(1000).reads).toBe(unlike(100).reads * 10);
});

test.each([
  [
    [
      { a: 1, b: [{ c: 1, d: 2 }] },
      { b: [{ d: 2, c: 1 }], a: 1 },
    ],
    false,
  ],
  [[{ a: 1 }, [["a", 1]], { "": [["a", 1]] }, '{"":[["a",1]]}'], true],
  [[JSON.parse('{"__proto__":1}'), {}, JSON.parse('{"__proto__":2}')], true],
  [["1", 1, true, "true", null, "null"], true],
])("%j: all different is %s", (items, isUnique) => {
  expect(compileJsonSchema({ uniqueItems: true })(items).length === 0).toBe(isUnique);
});

test.each([
  ["http://localhost:8080/a?b", true],
  ["HTTPS://a.example", true],
  ["ftp://a.example/b", true],
  ["file:///etc", false],
  ["a.example", false],
  ["http://a b.example", false],
  // A pattern that tries each way to part these letters comes to no end.
  [`http://${"a".repeat(60)}!`, true],
  [`http://${"u:".repeat(100_000)}@ `, false],
])("as a url %s is %s", (text, isOne) => {
  expect(compileJsonSchema({ format: "url" })(text).length === 0).toBe(isOne);
});
