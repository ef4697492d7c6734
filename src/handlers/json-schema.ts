// JSON Schema for tools: validation without eval, which Workers forbid, and defaults. Nothing is fetched: a $ref that
// leaves the schema is an error at definition.

import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import type { Violation } from "../protocol/call-outcome.ts";
import { writeJson } from "./write-json.ts";
import {
  matchesSchema,
  jsonTypeOf,
  MAX_VIOLATIONS,
  type SchemaDraft,
  type SchemaViolation,
} from "./schema-keywords.ts";
import { checkReferences, indexSchema } from "./schema-references.ts";
import { subschemasOf } from "./schema-shape.ts";

const DIALECTS: ReadonlyMap<string, SchemaDraft> = new Map([
  ["https://json-schema.org/draft/2020-12/schema", "2020-12"],
  ["https://json-schema.org/draft/2019-09/schema", "2019-09"],
  ["http://json-schema.org/draft-07/schema", "7"],
  ["http://json-schema.org/draft-04/schema", "4"],
]);

/** Values with more members report only the first violation: finding all can take very long. */
const MAX_FULL_CHECK = 1000;

/**
 * Returns a validator: a function that lists the violations of a value. Throws a TypeError that names the member and
 * the rule for an unusable schema, which neither this server nor a client that lists it could validate with.
 */
export function compileJsonSchema(schema: JsonObject): (value: unknown) => readonly Violation[] {
  // A copy, in the form that clients will read.
  const copy = JSON.parse(writeJson(schema)) as JsonObject;
  const draft = draftOf(copy);
  const subschemas = subschemasOf(copy);
  const index = indexSchema(copy);
  checkReferences(subschemas, index);
  const tracksEvaluated = subschemas.some(
    ({ schema: one }) => "unevaluatedItems" in one || "unevaluatedProperties" in one,
  );
  const testCache = new Map();
  const violationsIn = (value: unknown, stopsAtFirst: boolean): readonly SchemaViolation[] => {
    const violations: SchemaViolation[] = [];
    const evaluated = tracksEvaluated ? new Set<string>() : undefined;
    matchesSchema(copy, {
      run: { index, draft, stopsAtFirst, testCache, violations, referenceCache: new Map() },
      value,
      path: "",
      evaluated,
    });
    return violations;
  };
  // Validates once now, so that errors which the checks above miss are thrown here and not in a call.
  violationsIn({}, true);
  return (value) => {
    const firstViolation = violationsIn(value, true);
    if (firstViolation.length === 0) return [];
    const faults = hasAtMost(MAX_FULL_CHECK, value) ? violationsIn(value, false) : firstViolation;
    return faults.slice(0, MAX_VIOLATIONS).map(toViolation);
  };
}

function draftOf({ $schema }: JsonObject): SchemaDraft {
  const draft = typeof $schema === "string" ? DIALECTS.get($schema.replace(/#$/, "")) : "2020-12";
  if (draft === undefined) throw new TypeError(`unsupported JSON Schema dialect ${String($schema)}`);
  return draft;
}

/** Whether a value holds at most `limit` values, itself included, at any depth. */
export function hasAtMost(limit: number, value: unknown): boolean {
  const members: unknown[] = [value];
  for (const member of members) {
    if (members.length > limit) return false;
    if (typeof member !== "object" || member === null) continue;
    for (const inner of Object.values(member)) members.push(inner);
  }
  return true;
}

function toViolation({ keyword, rule, path: at, value, missing }: SchemaViolation): Violation {
  const path = [at, missing].filter(Boolean).join(".");
  const received = missing === undefined ? typeName(value) : "nothing";
  const expected = describeRule(keyword, rule, missing);
  return {
    path,
    expected,
    received,
    message: `${path === "" ? "arguments" : path}: ${expected}, received ${received}`,
  };
}

function describeRule(keyword: string, rule: unknown, missing: string | undefined): string {
  if (missing !== undefined) return "required";
  if (keyword === "type" && Array.isArray(rule)) return `expected ${rule.join(" or ")}`;
  if (keyword === "type" && typeof rule === "string") return `expected ${rule}`;
  if (keyword === "false" || keyword === "additionalProperties") return "not allowed";
  return `must satisfy ${keyword}${rule === undefined || isObject(rule) ? "" : ` ${JSON.stringify(rule)}`}`;
}

export function typeName(value: unknown): string {
  return value === undefined ? "nothing" : jsonTypeOf(value);
}

/** A copy in which absent properties have their schema's `default`. Returns the same value if no default applies. */
export function applyDefaults(schema: unknown, value: unknown): unknown {
  if (!isObject(schema)) return value;
  if (Array.isArray(value) && isObject(schema.items)) return value.map((item) => applyDefaults(schema.items, item));
  if (!isObject(value) || !isObject(schema.properties)) return value;
  const filled: JsonObject = { ...value };
  for (const [key, property] of Object.entries(schema.properties)) {
    if (!isObject(property)) continue;
    if (Object.hasOwn(filled, key)) filled[key] = applyDefaults(property, filled[key]);
    else if ("default" in property) filled[key] = structuredClone(property.default);
  }
  return filled;
}
