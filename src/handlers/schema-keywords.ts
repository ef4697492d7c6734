// Validates a value against a JSON Schema, keyword by keyword, in drafts 4, 7, 2019-09 and 2020-12. Reports every
// violation, or only the first where speed matters. References are resolved elsewhere.

import { canonicalJson } from "../auth/seal.ts";
import { charactersOf } from "../protocol/characters.ts";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import { isOfFormat } from "./text-formats.ts";
import { REFERENCES as REFERRING, resolveKeyword, type SchemaIndex } from "./schema-references.ts";

export type SchemaDraft = "4" | "7" | "2019-09" | "2020-12";

export interface SchemaViolation {
  readonly keyword: string;
  /** The value of the keyword in the schema. */
  readonly rule: unknown;
  /** Names and indices from the root to the value, separated by dots. */
  readonly path: string;
  readonly value: unknown;
  /** The missing member, for `required`. */
  readonly missing?: string;
}

export interface ValidationRun {
  readonly index: SchemaIndex;
  readonly draft: SchemaDraft;
  readonly stopsAtFirst: boolean;
  /** Cached tests of each schema, by the type of a value. */
  readonly testCache: Map<JsonObject, Record<string, Table>>;
  readonly violations: SchemaViolation[];
  /**
   * Results of references, by value. Without this cache, two references into the same value double the work at each
   * level.
   */
  readonly referenceCache: Map<unknown, CachedReference[]>;
}

interface CachedReference extends Pick<ValidationTarget, "path" | "evaluated"> {
  readonly schema: unknown;
  readonly isValid: boolean;
  readonly violations: readonly SchemaViolation[];
}

export const MAX_VIOLATIONS = 20;

/** A value within the root value. */
export interface ValidationTarget {
  readonly run: ValidationRun;
  readonly value: unknown;
  readonly path: string;
  /** The members that a keyword has evaluated; undefined when no schema asks for unevaluated ones. */
  readonly evaluated: Set<string> | undefined;
}

type Values = readonly unknown[];
type Members = Readonly<Record<string, unknown>>;
type Test = (rule: never, value: never, place: ValidationTarget, schema: JsonObject) => boolean;
type Table = readonly (readonly [keyword: string, test: Test])[];

/** For these keywords the inner schemas, or the test itself, report the violations. */
const SELF_REPORTING = new Set([
  ...REFERRING,
  "allOf",
  "required",
  "properties",
  "additionalProperties",
  "prefixItems",
  "items",
]);

/** Whether the value matches the schema. Violations are added to those of the run. */
export function matchesSchema(schema: unknown, target: ValidationTarget): boolean {
  const { run, value, path } = target;
  const { violations, stopsAtFirst } = run;
  if (!isObject(schema)) {
    if (schema === false) violations.push({ keyword: "false", rule: false, path, value });
    return schema !== false;
  }
  let isValid = true;
  for (const [keyword, test] of testsOf(schema, jsonTypeOf(value), run)) {
    const rule = schema[keyword];
    const before = violations.length;
    if (test(rule as never, value as never, target, schema)) {
      // A choice that matches leaves no violations of its other options.
      violations.length = before;
      continue;
    }
    isValid = false;
    if (!SELF_REPORTING.has(keyword)) violations.splice(before, 0, { keyword, rule, path, value });
    if (stopsAtFirst) break;
  }
  return isValid;
}

/** The tests of a schema for one type of value, cached: a schema has few of all keywords. */
function testsOf(schema: JsonObject, kind: string, { testCache, draft }: ValidationRun): Table {
  const byType = testCache.get(schema) ?? {};
  const cached = byType[kind];
  if (cached) return cached;
  testCache.set(schema, byType);
  // Before 2019-09 `$ref` ignores the keywords beside it.
  const isAlone = schema.$ref !== undefined && draft.length === 1;
  const tests = isAlone ? REFERENCES : [...ANY_TYPE, ...(BY_TYPE[kind] ?? [])];
  return (byType[kind] = tests.filter(([keyword]) => schema[keyword] !== undefined));
}

/** Whether every item matches. Continues after the first mismatch, unless the run stops at the first. */
function matchesEach<Item>(
  items: Iterable<Item>,
  { run }: ValidationTarget,
  matches: (item: Item) => boolean,
): boolean {
  let isValid = true;
  for (const item of items) {
    if (matches(item)) continue;
    isValid = false;
    if (run.stopsAtFirst) break;
  }
  return isValid;
}

/** Applies another schema to the same value. Its evaluated members count if it matches. */
function applyInPlace(schema: unknown, target: ValidationTarget): boolean {
  if (!target.evaluated) return matchesSchema(schema, target);
  const evaluated = new Set<string>();
  const isValid = matchesSchema(schema, { ...target, evaluated });
  if (isValid) for (const key of evaluated) target.evaluated.add(key);
  return isValid;
}

/** Like `applyInPlace`, once per value: the same reference to the same value reuses the result. */
function applyReference(schema: unknown, target: ValidationTarget): boolean {
  const { run, value, path, evaluated } = target;
  const { violations } = run;
  // Only objects contain other values.
  if (value === null || typeof value !== "object") return applyInPlace(schema, target);
  let cached = run.referenceCache.get(value);
  if (!cached) run.referenceCache.set(value, (cached = []));
  let entry = cached.find((one) => one.schema === schema && one.path === path);
  if (!entry) {
    const before = violations.length;
    const ownEvaluated = evaluated && new Set<string>();
    const isValid = matchesSchema(schema, { ...target, evaluated: ownEvaluated });
    // No more of them are ever reported.
    const first = violations.splice(before).slice(0, MAX_VIOLATIONS);
    cached.push((entry = { schema, path, evaluated: ownEvaluated, isValid, violations: first }));
  }
  violations.push(...entry.violations);
  if (entry.isValid) for (const key of entry.evaluated ?? []) evaluated?.add(key);
  return entry.isValid;
}

function applyToChild(schema: unknown, target: ValidationTarget, key: string | number): boolean {
  const { run, evaluated } = target;
  const value = (target.value as Members)[key];
  const isValid = matchesSchema(schema, {
    run,
    value,
    path: childPath(target.path, key),
    evaluated: evaluated && new Set(),
  });
  if (isValid) evaluated?.add(String(key));
  return isValid;
}

function childPath(path: string, key: string | number): string {
  return path === "" ? String(key) : `${path}.${key}`;
}

export function jsonTypeOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

/** Equality as JSON defines it. */
function isJsonEqual(one: unknown, other: unknown): boolean {
  return one === other || (typeof one === "object" && canonicalJson(one) === canonicalJson(other));
}

const REFERENCES: Table = REFERRING.map((keyword) => [
  keyword,
  (_rule, _value, target, schema) => applyReference(resolveKeyword(schema, keyword, target.run.index), target),
]);

const ANY_TYPE: Table = [
  ...REFERENCES,
  [
    "type",
    (rule: string | readonly string[], value) => {
      const isWhole = Number.isInteger(value);
      return [rule].flat().some((type) => type === jsonTypeOf(value) || (isWhole && type === "integer"));
    },
  ],
  ["const", (rule, value) => isJsonEqual(value, rule)],
  ["enum", (rule: Values, value) => rule.some((item) => isJsonEqual(value, item))],
  ["not", (rule, _value, target) => !applyInPlace(rule, target)],
  ["anyOf", (rule: Values, _value, target) => rule.filter((item) => applyInPlace(item, target)).length > 0],
  ["allOf", (rule: Values, _value, target) => matchesEach(rule, target, (item) => applyInPlace(item, target))],
  ["oneOf", (rule: Values, _value, target) => rule.filter((item) => applyInPlace(item, target)).length === 1],
  [
    "if",
    (rule, _value, target, { then = true, else: other = true }) => {
      const { violations } = target.run;
      const before = violations.length;
      const holds = applyInPlace(rule, target);
      violations.length = before;
      return applyInPlace(holds ? then : other, target);
    },
  ],
];

function matchDependents(rule: Members, value: Members, target: ValidationTarget): boolean {
  return matchesEach(Object.entries(rule), target, ([key, needed]) => {
    if (!Object.hasOwn(value, key)) return true;
    return Array.isArray(needed)
      ? needed.every((name: string) => Object.hasOwn(value, name))
      : applyInPlace(needed, target);
  });
}

const OBJECT: Table = [
  [
    "required",
    (rule: readonly string[], value: Members, target) =>
      matchesEach(rule, target, (missing) => {
        const { run, path } = target;
        return (
          Object.hasOwn(value, missing) || !run.violations.push({ keyword: "required", rule, path, value, missing })
        );
      }),
  ],
  ["minProperties", (rule: number, value: Members) => Object.keys(value).length >= rule],
  ["maxProperties", (rule: number, value: Members) => Object.keys(value).length <= rule],
  [
    "propertyNames",
    (rule, value: Members, target) =>
      matchesEach(Object.keys(value), target, (key) =>
        matchesSchema(rule, { ...target, value: key, path: childPath(target.path, key) }),
      ),
  ],
  ["dependentRequired", matchDependents],
  ["dependentSchemas", matchDependents],
  ["dependencies", matchDependents],
  [
    "properties",
    (rule: Members, value: Members, target) =>
      matchesEach(
        Object.keys(rule),
        target,
        (key) => !Object.hasOwn(value, key) || applyToChild(rule[key], target, key),
      ),
  ],
  [
    "patternProperties",
    (rule: Members, value: Members, target) =>
      matchesEach(Object.entries(rule), target, ([pattern, schema]) => {
        const matching = new RegExp(pattern, "u");
        return matchesEach(
          Object.keys(value),
          target,
          (key) => !matching.test(key) || applyToChild(schema, target, key),
        );
      }),
  ],
  [
    "additionalProperties",
    (rule, value: Members, target, { properties = {}, patternProperties = {} }) => {
      const patterns = Object.keys(patternProperties as Members).map((pattern) => new RegExp(pattern, "u"));
      const isNamed = (key: string) =>
        Object.hasOwn(properties as Members, key) || patterns.some((one) => one.test(key));
      return matchesEach(Object.keys(value), target, (key) => isNamed(key) || applyToChild(rule, target, key));
    },
  ],
  [
    "unevaluatedProperties",
    (rule, value: Members, target) =>
      matchesEach(
        Object.keys(value),
        target,
        (key) => target.evaluated?.has(key) === true || applyToChild(rule, target, key),
      ),
  ],
];

/** Whether each item in a range of indices matches its schema. */
function matchItems(from: number, to: number, target: ValidationTarget, schemaAt: (index: number) => unknown): boolean {
  let isValid = true;
  for (let index = from; index < to && (isValid || !target.run.stopsAtFirst); index += 1)
    isValid = applyToChild(schemaAt(index), target, index) && isValid;
  return isValid;
}

function matchPrefixItems(rule: Values, value: Values, target: ValidationTarget): boolean {
  return matchItems(0, Math.min(rule.length, value.length), target, (index) => rule[index]);
}

function countContained(schema: unknown, value: Values, target: ValidationTarget): number {
  const { violations } = target.run;
  const before = violations.length;
  const { length } = value.filter((_, index) => applyToChild(schema, target, index));
  violations.length = before;
  return length;
}

/** Compares canonical texts: comparing all pairs would take quadratic time. */
function isUnique(value: Values): boolean {
  return new Set(value.map(canonicalJson)).size === value.length;
}

const ARRAY: Table = [
  ["maxItems", (rule: number, value: Values) => value.length <= rule],
  ["minItems", (rule: number, value: Values) => value.length >= rule],
  ["prefixItems", matchPrefixItems],
  [
    "items",
    (rule: unknown, value: Values, target, { prefixItems = [] }) =>
      Array.isArray(rule)
        ? matchPrefixItems(rule, value, target)
        : matchItems((prefixItems as Values).length, value.length, target, () => rule),
  ],
  [
    "additionalItems",
    (rule, value: Values, target, { items }) =>
      !Array.isArray(items) || matchItems(items.length, value.length, target, () => rule),
  ],
  [
    "contains",
    (rule, value: Values, target, { minContains }) =>
      countContained(rule, value, target) > 0 || minContains !== undefined,
  ],
  [
    "minContains",
    (rule: number, value: Values, target, { contains }) =>
      contains === undefined || countContained(contains, value, target) >= rule,
  ],
  [
    "maxContains",
    (rule: number, value: Values, target, { contains }) =>
      contains === undefined || countContained(contains, value, target) <= rule,
  ],
  [
    "unevaluatedItems",
    (rule, value: Values, target) =>
      matchItems(0, value.length, target, (index) => target.evaluated?.has(String(index)) === true || rule),
  ],
  ["uniqueItems", (rule, value: Values) => !rule || isUnique(value)],
];

/** In draft 4 `exclusiveMinimum` and `exclusiveMaximum` are booleans that modify the limit beside them. */
const NUMBER: Table = [
  [
    "minimum",
    (rule: number, value: number, _place, { exclusiveMinimum }) =>
      !(value < rule) && (exclusiveMinimum !== true || value !== rule),
  ],
  [
    "maximum",
    (rule: number, value: number, _place, { exclusiveMaximum }) =>
      !(value > rule) && (exclusiveMaximum !== true || value !== rule),
  ],
  ["exclusiveMinimum", (rule: number | boolean, value: number) => typeof rule === "boolean" || !(value <= rule)],
  ["exclusiveMaximum", (rule: number | boolean, value: number) => typeof rule === "boolean" || !(value >= rule)],
  ["multipleOf", isMultiple],
];

const STRING: Table = [
  // A character has one or two code units, so the characters of a long text need not be counted.
  ["minLength", (rule: number, value: string) => value.length >= 2 * rule || charactersOf(value) >= rule],
  ["maxLength", (rule: number, value: string) => value.length <= 2 * rule && charactersOf(value) <= rule],
  ["pattern", (rule: string, value: string) => new RegExp(rule, "u").test(value)],
  ["format", isOfFormat],
];

const BY_TYPE: Readonly<Record<string, Table>> = { object: OBJECT, array: ARRAY, number: NUMBER, string: STRING };

/** The digits and their exponent: 0.25 is 25 and -2. */
function toDecimal(value: number): readonly [bigint, number] {
  const [digits = "", exponent = 0] = String(Math.abs(value)).split("e");
  const [whole = "", part = ""] = digits.split(".");
  return [BigInt(whole + part), Number(exponent) - part.length];
}

/** Decimal arithmetic: 19.99 is a multiple of 0.01, although their binary values are not. */
function isMultiple(divisor: number, value: number): boolean {
  if (!Number.isFinite(value)) return false;
  const [digits, places] = toDecimal(value);
  const [divisorDigits, divisorPlaces] = toDecimal(divisor);
  const least = Math.min(places, divisorPlaces);
  return (digits * 10n ** BigInt(places - least)) % (divisorDigits * 10n ** BigInt(divisorPlaces - least)) === 0n;
}
