// Walks a schema, finds its subschemas, and checks the value of each known keyword. Unknown keywords are ignored, as
// the specification requires. https://json-schema.org/draft/2020-12/meta/schema

import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";

/** Keywords whose value is a schema, a list of schemas, or schemas by name. Before 2020-12 `items` could be a list. */
const SCHEMA_KEYWORDS =
  /^(additionalItems|unevaluatedItems|items|contains|additionalProperties|unevaluatedProperties|propertyNames|not|if|then|else)$/;
export const SCHEMA_LIST_KEYWORDS = /^(prefixItems|items|allOf|anyOf|oneOf)$/;
export const SCHEMA_MAP_KEYWORDS = /^(\$defs|definitions|properties|patternProperties|dependentSchemas)$/;

const MAX_SUBSCHEMAS = 5000;
const TYPES = new Set(["array", "boolean", "integer", "null", "number", "object", "string"]);

/** The required value of a keyword, in words and as a check. */
type Rule = readonly [is: string, holds: (value: unknown) => boolean];

const isUniqueTexts = (value: unknown): boolean =>
  Array.isArray(value) && value.every(isText) && new Set(value).size === value.length;
const isNumber = (value: unknown): boolean => typeof value === "number";
const isType = (value: unknown): boolean => TYPES.has(value as string);

const isText = (value: unknown): boolean => typeof value === "string";
const TEXT: Rule = ["a text", isText];
const FLAG: Rule = ["true or false", (value) => typeof value === "boolean"];
const COUNT: Rule = ["a whole number, 0 or more", (value) => Number.isInteger(value) && (value as number) >= 0];
const NUMBER: Rule = ["a number", isNumber];
/** In draft 4 `exclusiveMinimum` and `exclusiveMaximum` are booleans that modify the limit beside them. */
const LIMIT: Rule = ["a number", (value) => isNumber(value) || typeof value === "boolean"];
const LIST: Rule = ["a list", Array.isArray];

/** Clients compile patterns with this flag, as the specification recommends. */
const PATTERN: Rule = ["a regular expression with the flag u", isRegExp];

/** Rules for keywords whose value is not a schema. The first entry that matches a keyword applies. */
const RULES: readonly (readonly [names: RegExp, rule: Rule])[] = [
  [/^(min|max)(Length|Items|Contains|Properties)$/, COUNT],
  [/^(min|max)imum$/, NUMBER],
  [/^exclusive(Min|Max)imum$/, LIMIT],
  [
    /^(title|description|content(Encoding|MediaType)|\$(schema|comment|ref|dynamicAnchor|(dynamic|recursive)Ref))$/,
    TEXT,
  ],
  [/^(uniqueItems|deprecated|readOnly|writeOnly)$/, FLAG],
  [/^(enum|examples)$/, LIST],
  [/^pattern$/, PATTERN],
  [/^\$id$/, ["a URI", (value) => isText(value) && URL.canParse(value as string, "http://x")]],
  [/^\$anchor$/, ["a name", (value) => isText(value) && /^[A-Za-z_][\w.-]*$/.test(value as string)]],
  // Names that every object inherits are not formats, and some validators fail on them.
  [/^format$/, ["a format", (value) => isText(value) && !((value as string) in {})]],
  [
    /^type$/,
    [
      `one of ${[...TYPES].join(", ")}, or a list of them`,
      (value) => (Array.isArray(value) ? value.length > 0 && value.every(isType) : isType(value)),
    ],
  ],
  [/^required$/, ["a list of different names", isUniqueTexts]],
  [/^dependentRequired$/, ["lists of names", (value) => isObject(value) && Object.values(value).every(isUniqueTexts)]],
  [/^multipleOf$/, ["a number above 0", (value) => isNumber(value) && (value as number) > 0]],
];

export function isRegExp(value: unknown): boolean {
  if (typeof value !== "string") return false;
  try {
    RegExp(value, "u");
    return true;
  } catch {
    return false;
  }
}

/** A schema within a schema, and its path, such as `properties.a.items`. */
export interface Subschema {
  readonly at: string;
  readonly schema: JsonObject;
}

/** Every schema within a schema, itself first. Throws a TypeError that gives the error and its path. */
export function subschemasOf(rootSchema: JsonObject): readonly Subschema[] {
  const found: Subschema[] = [{ at: "", schema: rootSchema }];
  for (const subschema of found) {
    if (found.length > MAX_SUBSCHEMAS) throw new TypeError(`a schema must have at most ${MAX_SUBSCHEMAS} subschemas`);
    found.push(...directSubschemas(subschema));
  }
  return found;
}

function directSubschemas({ at, schema }: Subschema): readonly Subschema[] {
  return Object.entries(schema).flatMap(([keyword, value]) => {
    const here = at === "" ? keyword : `${at}.${keyword}`;
    assertRule(here, RULES.find(([names]) => names.test(keyword))?.[1], value);
    return candidatesUnder(keyword, value, here).flatMap((inner) => {
      if (isObject(inner.schema)) return { at: inner.at, schema: inner.schema };
      if (typeof inner.schema === "boolean") return [];
      return rejectKeyword(inner.at, "a schema", inner.schema);
    });
  });
}

/**
 * Whether at least one name is a keyword of JSON Schema. `const` and `default` may hold anything, so they have no rule.
 */
export function hasKeyword(names: readonly string[]): boolean {
  return names.some(
    (name) =>
      /^(\$|x-|const$|default$)/.test(name) ||
      [SCHEMA_KEYWORDS, SCHEMA_LIST_KEYWORDS, SCHEMA_MAP_KEYWORDS, ...RULES.map(([rule]) => rule)].some((rule) =>
        rule.test(name),
      ),
  );
}

interface SubschemaCandidate {
  readonly at: string;
  readonly schema: unknown;
}

function candidatesUnder(keyword: string, value: unknown, at: string): readonly SubschemaCandidate[] {
  if (SCHEMA_LIST_KEYWORDS.test(keyword) && Array.isArray(value)) {
    return value.map((schema: unknown, index) => ({ at: `${at}.${index}`, schema }));
  }
  if (SCHEMA_KEYWORDS.test(keyword)) return [{ at, schema: value }];
  if (SCHEMA_LIST_KEYWORDS.test(keyword)) rejectKeyword(at, "a list of schemas", value);
  if (!SCHEMA_MAP_KEYWORDS.test(keyword)) return [];
  if (!isObject(value)) rejectKeyword(at, "schemas by name", value);
  return Object.entries(value).map(([name, schema]) => {
    if (keyword === "patternProperties") assertRule(at, PATTERN, name);
    return { at: `${at}.${name}`, schema };
  });
}

function assertRule(at: string, rule: Rule | undefined, value: unknown): void {
  if (rule && !rule[1](value)) rejectKeyword(at, rule[0], value);
}

function rejectKeyword(at: string, expected: string, value: unknown): never {
  throw new TypeError(`${at}: must be ${expected}, not ${preview(value)}`);
}

function preview(value: unknown): string {
  return (JSON.stringify(value) ?? String(value)).slice(0, 60);
}
