// Owns which keywords of JSON Schema hold schemas and what the others must be: walks a schema and finds what is wrong.
// A keyword that is not known is left alone, as the specification says.
// https://json-schema.org/draft/2020-12/meta/schema

import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";

const MAX_SUBSCHEMAS = 5000;
const TYPES = new Set(["array", "boolean", "integer", "null", "number", "object", "string"]);

/** Judges the value of a keyword: undefined when it is right, else the rule that it breaks. */
type Rule = (value: unknown) => string | undefined;

const rule =
  (text: string, holds: (value: unknown) => boolean): Rule =>
  (value) =>
    holds(value) ? undefined : text;

const isStrings = (value: unknown): boolean =>
  Array.isArray(value) && value.every((item) => typeof item === "string") && new Set(value).size === value.length;
const isType = (value: unknown): boolean => typeof value === "string" && TYPES.has(value);

const count = rule("must be a whole number from 0 on", (value) => Number.isInteger(value) && (value as number) >= 0);
const number = rule("must be a number", (value) => typeof value === "number");
/** In draft 4 `exclusiveMinimum` and `exclusiveMaximum` are true or false, and speak of the limit beside them. */
const limit = rule("must be a number", (value) => typeof value === "number" || typeof value === "boolean");
const text = rule("must be a text", (value) => typeof value === "string");
const boolean = rule("must be true or false", (value) => typeof value === "boolean");
const list = rule("must be a list", Array.isArray);

const PATTERN = rule("must be a regular expression with the flag u, as clients read it", isRegExp);

/** What must hold for keywords whose value is no schema. */
const RULES: Readonly<Record<string, Rule>> = {
  $id: rule("must be a URI", (value) => typeof value === "string" && URL.canParse(value, "https://schema.invalid")),
  $ref: text,
  $anchor: rule("must be a name", (value) => typeof value === "string" && /^[A-Za-z_][\w.-]*$/.test(value)),
  $dynamicAnchor: text,
  $dynamicRef: text,
  $comment: text,
  title: text,
  description: text,
  // The names that every object has are no formats, and validators stumble over them.
  format: rule("must be the name of a format", (value) => typeof value === "string" && !(value in {})),
  contentEncoding: text,
  contentMediaType: text,
  type: rule(`must be one of ${[...TYPES].join(", ")}, or a list of them`, (value) =>
    Array.isArray(value) ? value.length > 0 && value.every(isType) : isType(value),
  ),
  enum: list,
  examples: list,
  required: rule("must be a list of different names", isStrings),
  dependentRequired: rule(
    "must hold lists of names",
    (value) => isObject(value) && Object.values(value).every(isStrings),
  ),
  minLength: count,
  maxLength: count,
  minItems: count,
  maxItems: count,
  minContains: count,
  maxContains: count,
  minProperties: count,
  maxProperties: count,
  minimum: number,
  maximum: number,
  exclusiveMinimum: limit,
  exclusiveMaximum: limit,
  multipleOf: rule("must be a number above 0", (value) => typeof value === "number" && value > 0),
  uniqueItems: boolean,
  deprecated: boolean,
  readOnly: boolean,
  writeOnly: boolean,
  pattern: PATTERN,
};

/** Keywords whose value is one schema; a list of schemas; schemas by name. `items` may be either of the first two. */
const SCHEMA = new Set([
  "additionalItems",
  "additionalProperties",
  "contains",
  "contentSchema",
  "else",
  "if",
  "not",
  "propertyNames",
  "then",
  "unevaluatedItems",
  "unevaluatedProperties",
]);
const LISTS = new Set(["allOf", "anyOf", "oneOf", "prefixItems"]);
const MAPS = new Set(["$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"]);

function isRegExp(value: unknown): boolean {
  if (typeof value !== "string") return false;
  try {
    RegExp(value, "u");
    return true;
  } catch {
    return false;
  }
}

/** A schema within a schema, and where it stands: `properties.a.items`. */
export interface Subschema {
  readonly at: string;
  readonly schema: JsonObject;
}

/** Every schema within the one that stands at `at`, itself first. Throws a TypeError that says what is wrong, and where. */
export function subschemasOf(whole: JsonObject, at = ""): readonly Subschema[] {
  const found: Subschema[] = [{ at, schema: whole }];
  for (const subschema of found) {
    if (found.length > MAX_SUBSCHEMAS) throw new TypeError(`a schema has at most ${MAX_SUBSCHEMAS} subschemas`);
    found.push(...within(subschema));
  }
  return found;
}

/** The schemas directly under a schema. */
function within({ at, schema }: Subschema): readonly Subschema[] {
  return Object.entries(schema).flatMap(([keyword, value]) => {
    const here = at === "" ? keyword : `${at}.${keyword}`;
    refuse(here, Object.hasOwn(RULES, keyword) ? RULES[keyword] : undefined, value);
    return schemasUnder(keyword, value, here).flatMap((inner) => {
      if (isObject(inner.schema)) return { at: inner.at, schema: inner.schema };
      if (typeof inner.schema === "boolean") return [];
      throw new TypeError(`${inner.at}: must be a schema, and is ${shown(inner.schema)}`);
    });
  });
}

interface Under {
  readonly at: string;
  readonly schema: unknown;
}

function schemasUnder(keyword: string, value: unknown, at: string): readonly Under[] {
  if (SCHEMA.has(keyword)) return [{ at, schema: value }];
  // Before 2020-12 `items` could be a list, as `prefixItems` is now.
  if (keyword === "items") return Array.isArray(value) ? listed(value, at) : [{ at, schema: value }];
  if (LISTS.has(keyword)) {
    if (!Array.isArray(value)) throw new TypeError(`${at}: must be a list of schemas, and is ${shown(value)}`);
    return listed(value, at);
  }
  if (!MAPS.has(keyword)) return [];
  if (!isObject(value)) throw new TypeError(`${at}: must hold schemas by name, and is ${shown(value)}`);
  return Object.entries(value).flatMap(([name, schema]) => {
    if (keyword === "patternProperties") refuse(at, PATTERN, name);
    // Before 2019-09 a member could depend on others, listed by their names, or on a schema.
    return keyword === "dependencies" && isStrings(schema) ? [] : { at: `${at}.${name}`, schema };
  });
}

function refuse(at: string, judge: Rule | undefined, value: unknown): void {
  const broken = judge?.(value);
  if (broken !== undefined) throw new TypeError(`${at}: ${broken}, and is ${shown(value)}`);
}

function listed(values: readonly unknown[], at: string): readonly Under[] {
  return values.map((schema, index) => ({ at: `${at}.${index}`, schema }));
}

function shown(value: unknown): string {
  return (JSON.stringify(value) ?? String(value)).slice(0, 60);
}
