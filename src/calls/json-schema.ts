// Owns plain JSON Schema 2020-12 for tools: validation through a library without eval, and applying defaults.
// Refuses to fetch: a $ref that leaves the schema is an error at definition.

import { dereference, validate, type OutputUnit, type SchemaDraft } from "@cfworker/json-schema";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import type { Violation } from "../protocol/outcome.ts";
import { writeJson } from "./as-json.ts";
import { checkReferences } from "./schema-references.ts";
import { subschemasOf } from "./schema-shape.ts";

const DIALECTS: ReadonlyMap<string, SchemaDraft> = new Map([
  ["https://json-schema.org/draft/2020-12/schema", "2020-12"],
  ["https://json-schema.org/draft/2019-09/schema", "2019-09"],
  ["http://json-schema.org/draft-07/schema", "7"],
  ["http://json-schema.org/draft-04/schema", "4"],
]);

export const MAX_VIOLATIONS = 20;
/** Of a value with more members only the first fault is reported: looking for all can take very long. */
const MAX_THOROUGH = 1000;

/**
 * A validator: the violations of a value, none for a valid one. Throws a TypeError that names the member and the rule
 * when the schema cannot be used: then no value could be validated by it, here or by a client that reads it in a list.
 */
export function compileJsonSchema(schema: JsonObject): (value: unknown) => readonly Violation[] {
  // A copy, as clients will read it: the library writes into the schemas that it is given.
  const own = JSON.parse(writeJson(schema)) as JsonObject;
  const draft = draftOf(own);
  const subschemas = subschemasOf(own);
  const lookup = dereference(own);
  checkReferences(subschemas, lookup);
  const run = (value: unknown, quick: boolean) => validate(value, own, draft, lookup, quick);
  // What the checks above do not know of throws now, and not in a call.
  run({}, true);
  return (value) => {
    const first = run(value, true);
    if (first.valid) return [];
    const { errors } = hasAtMost(MAX_THOROUGH, value) ? run(value, false) : first;
    return leaves(errors)
      .slice(0, MAX_VIOLATIONS)
      .map((unit) => violationOf(unit, own, value));
  };
}

/** The draft that the schema is written in. */
function draftOf({ $schema }: JsonObject): SchemaDraft {
  const draft = typeof $schema === "string" ? DIALECTS.get($schema.replace(/#$/, "")) : "2020-12";
  if (draft === undefined) throw new TypeError(`unsupported JSON Schema dialect ${String($schema)}`);
  return draft;
}

/** Whether a value holds at most this many values, itself included, at any depth. */
export function hasAtMost(most: number, value: unknown): boolean {
  const members: unknown[] = [value];
  for (const member of members) {
    if (members.length > most) return false;
    if (typeof member !== "object" || member === null) continue;
    for (const inner of Object.values(member)) members.push(inner);
  }
  return true;
}

/** The library reports each failed keyword and every keyword above it. Only those at the bottom say what is wrong. */
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
  const at = pointerKeys(unit.instanceLocation);
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
  if (keyword === "type" && Array.isArray(rule)) return `expected ${rule.join(" or ")}`;
  if (keyword === "type" && typeof rule === "string") return `expected ${rule}`;
  if (keyword === "false" || keyword === "additionalProperties") return "not allowed";
  return `must satisfy ${keyword}${rule === undefined || isObject(rule) ? "" : ` ${JSON.stringify(rule)}`}`;
}

/** The value of the keyword at a location. Behind a `$ref` the location goes on as if the target stood there. */
function ruleAt(schema: JsonObject, location: string): unknown {
  return pointerKeys(location).reduce<unknown>((at, key) => {
    const next = step(at, key);
    return key === "$ref" && typeof next === "string" ? pointerKeys(next).reduce<unknown>(step, schema) : next;
  }, schema);
}

function pointerKeys(pointer: string): string[] {
  return pointer.replace(/^#\/?/, "").split("/").filter(Boolean).map(unescapePointer);
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
