// The official test suite of JSON Schema, draft 2020-12, required cases: all of them, but for a list of exceptions that is here.
// https://github.com/json-schema-org/JSON-Schema-Test-Suite

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { compileJsonSchema } from "../src/handlers/json-schema.ts";
import { isObject, type JsonObject } from "../src/protocol/jsonrpc.ts";

interface Group {
  readonly description: string;
  readonly schema: JsonObject | boolean;
  readonly tests: readonly { readonly description: string; readonly data: unknown; readonly valid: boolean }[];
}

const FIXTURE = join(import.meta.dirname, "fixtures/json-schema-2020-12.json.gz");
const { files } = JSON.parse(gunzipSync(readFileSync(FIXTURE)).toString()) as {
  readonly files: Readonly<Record<string, readonly Group[]>>;
};
const groups = Object.entries(files).flatMap(([file, inFile]) => inFile.map((group) => ({ file, ...group })));
const nameOf = ({ file, description }: { file: string; description: string }) => `${file}: ${description}`;

/** Refused at definition: what another document says is not fetched, and its vocabularies are not read. */
const ELSEWHERE = [
  "defs: validate definition against metaschema",
  "dynamicRef: $ref and $dynamicAnchor are independent of order - $defs first",
  "dynamicRef: $ref and $dynamicAnchor are independent of order - $ref first",
  "dynamicRef: $ref to $dynamicRef finds detached $dynamicAnchor",
  "dynamicRef: strict-tree schema, guards against misspelled properties",
  "dynamicRef: tests for implementation dynamic anchor and reference link",
  "ref: remote ref, containing refs itself",
  ...groups.filter(({ file }) => file === "refRemote").map(nameOf),
];
/** Refused at definition: which of several schemas is meant, only the way to a value tells. */
const SEVERAL = [
  "dynamicRef: $dynamicRef avoids the root of each schema, but scopes are still registered",
  "dynamicRef: $dynamicRef skips over intermediate resources - direct reference",
  "dynamicRef: A $dynamicRef resolves to the first $dynamicAnchor still in scope that is encountered when the schema is evaluated",
  "dynamicRef: A $dynamicRef that initially resolves to a schema with a matching $dynamicAnchor resolves to the first $dynamicAnchor in the dynamic scope",
  "dynamicRef: A $dynamicRef with intermediate scopes that don't include a matching $dynamicAnchor does not affect dynamic scope resolution",
  "dynamicRef: after leaving a dynamic scope, it is not used by a $dynamicRef",
  "dynamicRef: multiple dynamic paths to the $dynamicRef keyword",
  "unevaluatedItems: unevaluatedItems with $dynamicRef",
  "unevaluatedProperties: unevaluatedProperties with $dynamicRef",
];
const DIALECTS = [
  "vocabulary: ignore unrecognized optional vocabulary",
  "vocabulary: schema that uses custom metaschema with with no validation vocabulary",
];
/** A format that is known is held to what it says, as an option of the specification: an author who writes one means it. */
const UNKNOWN = /^(idn-email|idn-hostname|iri|iri-reference) format$/;
const isAsserted = (group: string, what: string) =>
  group.startsWith("format: ") && !UNKNOWN.test(group.slice("format: ".length)) && what.startsWith("invalid ");

/** A tool's schema is an object: `true` and `false` are looked at within one. */
const compiled = ({ schema }: Group) => compileJsonSchema(isObject(schema) ? schema : { allOf: [schema] });

test("the suite has the cases of its commit, and as many exceptions as are named", () => {
  const cases = groups.flatMap((group) => group.tests.map((one) => ({ name: nameOf(group), ...one })));
  const elsewhere = cases.filter(({ name }) => ELSEWHERE.includes(name));
  const several = cases.filter(({ name }) => SEVERAL.includes(name));
  const dialects = cases.filter(({ name }) => DIALECTS.includes(name));
  const asserted = cases.filter(({ name, description }) => isAsserted(name, description));
  expect([cases.length, elsewhere.length, several.length]).toEqual([1299, 48, 21]);
  expect([dialects.length, asserted.length]).toEqual([5, 15]);
});

describe.each(groups.map((group) => [nameOf(group), group] as const))("%s", (name, group) => {
  if (ELSEWHERE.includes(name)) {
    test("is refused, for it leaves the schema", () => {
      expect(() => compiled(group)).toThrow("leaves the schema");
    });
  } else if (SEVERAL.includes(name)) {
    test("is refused, for more than one schema could be meant", () => {
      expect(() => compiled(group)).toThrow("could lead to more than one schema");
    });
  } else if (DIALECTS.includes(name)) {
    test("is refused, for its dialect is another", () => {
      expect(() => compiled(group)).toThrow("unsupported JSON Schema dialect");
    });
  } else {
    test.each(group.tests)("$description", ({ data, valid, description }) => {
      const isRight = isAsserted(name, description) ? false : valid;
      expect(compiled(group)(data).length === 0).toBe(isRight);
    });
  }
});
