// Owns plain JSON Schema 2020-12 for tools: validation through a library without eval, and applying defaults.
// Refuses to fetch: a $ref that leaves the schema is an error at definition.

import { Validator, type OutputUnit, type SchemaDraft } from "@cfworker/json-schema";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import type { Violation } from "../protocol/backend.ts";

const DIALECTS: Readonly<Record<string, SchemaDraft>> = {
  "https://json-schema.org/draft/2020-12/schema": "2020-12",
  "https://json-schema.org/draft/2019-09/schema": "2019-09",
  "http://json-schema.org/draft-07/schema": "7",
  "http://json-schema.org/draft-04/schema": "4",
};

const MAX_SUBSCHEMAS = 5000;

/** Throws a TypeError that names the rule when the schema cannot be used. */
export function compileJsonSchema(schema: JsonObject): (value: unknown) => readonly Violation[] {
  const { $schema } = schema;
  const draft = typeof $schema === "string" ? DIALECTS[$schema.replace(/#$/, "")] : "2020-12";
  if (draft === undefined) throw new TypeError(`unsupported JSON Schema dialect ${String($schema)}`);
  checkSchema(schema, { left: MAX_SUBSCHEMAS });
  const validator = new Validator(schema, draft, false);
  return (value) => {
    const { valid, errors } = validator.validate(value);
    return valid ? [] : leaves(errors).map((unit) => violationOf(unit, schema, value));
  };
}

function checkSchema(schema: unknown, budget: { left: number }): void {
  if (Array.isArray(schema)) {
    for (const item of schema) checkSchema(item, budget);
    return;
  }
  if (!isObject(schema)) return;
  budget.left -= 1;
  if (budget.left < 0) throw new TypeError(`a schema has at most ${MAX_SUBSCHEMAS} subschemas`);
  const ref = schema.$ref;
  if (typeof ref === "string" && !ref.startsWith("#")) throw new TypeError(`$ref ${ref} leaves the schema`);
  for (const item of Object.values(schema)) checkSchema(item, budget);
}

/** The library reports each failed keyword and then every keyword above it; the ones at the bottom say what is wrong. */
function leaves(errors: readonly OutputUnit[]): OutputUnit[] {
  const wrappers = new Set([
    "properties",
    "items",
    "additionalProperties",
    "allOf",
    "$ref",
    "prefixItems",
    "then",
    "else",
  ]);
  const bottom = errors.filter(
    (unit) => !wrappers.has(unit.keyword) || !errors.some((other) => other !== unit && isBelow(other, unit)),
  );
  return bottom.length > 0 ? bottom : [...errors];
}

function isBelow(unit: OutputUnit, above: OutputUnit): boolean {
  return (
    unit.keywordLocation.startsWith(`${above.keywordLocation}/`) ||
    unit.instanceLocation.startsWith(`${above.instanceLocation}/`)
  );
}

function violationOf(unit: OutputUnit, schema: JsonObject, value: unknown): Violation {
  const at = unit.instanceLocation.replace(/^#\/?/, "").split("/").filter(Boolean).map(unescapePointer);
  const missing = unit.keyword === "required" ? /"([^"]+)"/.exec(unit.error)?.[1] : undefined;
  const path = missing === undefined ? at.join(".") : [...at, missing].join(".");
  const rule = ruleAt(schema, unit.keywordLocation);
  const received = missing === undefined ? typeName(at.reduce<unknown>(step, value)) : "nothing";
  const expected = expectedText(unit.keyword, rule, missing);
  return {
    path,
    expected,
    received,
    message: `${path === "" ? "arguments" : path}: ${expected}, received ${received}`,
  };
}

function expectedText(keyword: string, rule: unknown, missing: string | undefined): string {
  if (missing !== undefined) return "required";
  if (keyword === "type") return `expected ${Array.isArray(rule) ? rule.join(" or ") : String(rule)}`;
  if (keyword === "false" || keyword === "additionalProperties") return "not allowed";
  return `must satisfy ${keyword}${rule === undefined || isObject(rule) ? "" : ` ${JSON.stringify(rule)}`}`;
}

function ruleAt(schema: JsonObject, location: string): unknown {
  return location.replace(/^#\/?/, "").split("/").filter(Boolean).map(unescapePointer).reduce<unknown>(step, schema);
}

function step(at: unknown, key: string): unknown {
  if (Array.isArray(at)) return at[Number(key)];
  return isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined;
}

function unescapePointer(text: string): string {
  const plain = text.replaceAll("~1", "/").replaceAll("~0", "~");
  try {
    return decodeURIComponent(plain);
  } catch {
    return plain;
  }
}

export function typeName(value: unknown): string {
  if (value === null) return "null";
  if (value === undefined) return "nothing";
  return Array.isArray(value) ? "array" : typeof value;
}

/** A copy in which absent properties have their schema's `default`; the same value where there is none to apply. */
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
