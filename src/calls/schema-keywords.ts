// Owns whether a value keeps a JSON Schema, keyword by keyword, in the drafts 4, 7, 2019-09 and 2020-12. Says all that is wrong,
// or where it is asked to be quick no more than the first. Refuses to find where references lead: that is given.

import { canonicalJson } from "../auth/seal.ts";
import { charactersOf } from "../protocol/characters.ts";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import { isOfFormat } from "./text-formats.ts";
import { REFERENCES as REFERRING, targetOf, type SchemaPlaces } from "./schema-references.ts";

export type SchemaDraft = "4" | "7" | "2019-09" | "2020-12";

export interface SchemaFault {
  readonly keyword: string;
  /** What the schema says under the keyword. */
  readonly rule: unknown;
  /** Names and indices from the whole to the value, by dots. */
  readonly path: string;
  readonly value: unknown;
  /** Of `required`. */
  readonly missing?: string;
}

export interface CheckRun {
  readonly places: SchemaPlaces;
  readonly draft: SchemaDraft;
  readonly isQuick: boolean;
  /** What was found out about schemas, by the kind of a value. */
  readonly plans: Map<JsonObject, Record<string, Table>>;
  readonly faults: SchemaFault[];
  /** What references led to, by value: two that lead into the same value twice at each level would double the work of each. */
  readonly met: Map<unknown, Met[]>;
}

interface Met extends Pick<CheckPlace, "path" | "seen"> {
  readonly schema: unknown;
  readonly isKept: boolean;
  readonly faults: readonly SchemaFault[];
}

export const MAX_VIOLATIONS = 20;

/** A value within the whole one. */
export interface CheckPlace {
  readonly run: CheckRun;
  readonly value: unknown;
  readonly path: string;
  /** The members that a keyword has looked at; undefined where no schema asks for the others. */
  readonly seen: Set<string> | undefined;
}

type Values = readonly unknown[];
type Members = Readonly<Record<string, unknown>>;
type Test = (rule: never, value: never, place: CheckPlace, schema: JsonObject) => boolean;
type Table = readonly (readonly [keyword: string, test: Test])[];

/** What is wrong is said by the schemas under these, or by the test itself. */
const SILENT = new Set([
  ...REFERRING,
  "allOf",
  "required",
  "properties",
  "additionalProperties",
  "prefixItems",
  "items",
]);

/** Whether the value keeps the schema. What is wrong is added to the faults of the run. */
export function keeps(schema: unknown, place: CheckPlace): boolean {
  const { run, value, path } = place;
  const { faults, isQuick } = run;
  if (!isObject(schema)) {
    if (schema === false) faults.push({ keyword: "false", rule: false, path, value });
    return schema !== false;
  }
  let isKept = true;
  for (const [keyword, test] of testsOf(schema, jsonKindOf(value), run)) {
    const rule = schema[keyword];
    const before = faults.length;
    if (test(rule as never, value as never, place, schema)) {
      // A choice of which one holds leaves nothing of the others.
      faults.length = before;
      continue;
    }
    isKept = false;
    if (!SILENT.has(keyword)) faults.splice(before, 0, { keyword, rule, path, value });
    if (isQuick) break;
  }
  return isKept;
}

/** Those that a schema has for values of a kind, found once: a schema has few of the keywords that there are. */
function testsOf(schema: JsonObject, kind: string, { plans, draft }: CheckRun): Table {
  const plan = plans.get(schema) ?? {};
  const known = plan[kind];
  if (known) return known;
  plans.set(schema, plan);
  // Until 2019 a reference stands alone.
  const isAlone = schema.$ref !== undefined && draft.length === 1;
  const tests = isAlone ? REFERENCES : [...EACH, ...(OF_KIND[kind] ?? [])];
  return (plan[kind] = tests.filter(([keyword]) => schema[keyword] !== undefined));
}

/** Whether each passes; asks on after the first that does not, unless it has to be quick. */
function all<Item>(items: Iterable<Item>, { run }: CheckPlace, passes: (item: Item) => boolean): boolean {
  let isKept = true;
  for (const item of items) {
    if (passes(item)) continue;
    isKept = false;
    if (run.isQuick) break;
  }
  return isKept;
}

/** The same value by another schema. What that has looked at counts where it holds. */
function here(schema: unknown, place: CheckPlace): boolean {
  if (!place.seen) return keeps(schema, place);
  const seen = new Set<string>();
  const isKept = keeps(schema, { ...place, seen });
  if (isKept) for (const key of seen) place.seen.add(key);
  return isKept;
}

/** As `here`, once for each value: whoever comes to it again by the same reference finds what was found. */
function once(schema: unknown, place: CheckPlace): boolean {
  const { run, value, path, seen } = place;
  const { faults } = run;
  // What is no object has nothing within it.
  if (value === null || typeof value !== "object") return here(schema, place);
  let known = run.met.get(value);
  if (!known) run.met.set(value, (known = []));
  let met = known.find((one) => one.schema === schema && one.path === path);
  if (!met) {
    const before = faults.length;
    const own = seen && new Set<string>();
    const isKept = keeps(schema, { ...place, seen: own });
    // No more of them are ever told.
    const first = faults.splice(before).slice(0, MAX_VIOLATIONS);
    known.push((met = { schema, path, seen: own, isKept, faults: first }));
  }
  faults.push(...met.faults);
  if (met.isKept) for (const key of met.seen ?? []) seen?.add(key);
  return met.isKept;
}

function inside(schema: unknown, place: CheckPlace, key: string | number): boolean {
  const { run, seen } = place;
  const value = (place.value as Members)[key];
  const isKept = keeps(schema, { run, value, path: below(place.path, key), seen: seen && new Set() });
  if (isKept) seen?.add(String(key));
  return isKept;
}

function below(path: string, key: string | number): string {
  return path === "" ? String(key) : `${path}.${key}`;
}

export function jsonKindOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

/** As JSON has it. */
function isSame(one: unknown, other: unknown): boolean {
  return one === other || (typeof one === "object" && canonicalJson(one) === canonicalJson(other));
}

const REFERENCES: Table = REFERRING.map((keyword) => [
  keyword,
  (_rule, _value, place, schema) => once(targetOf(schema, keyword, place.run.places), place),
]);

const EACH: Table = [
  ...REFERENCES,
  [
    "type",
    (rule: string | readonly string[], value) => {
      const isWhole = Number.isInteger(value);
      return [rule].flat().some((type) => type === jsonKindOf(value) || (isWhole && type === "integer"));
    },
  ],
  ["const", (rule, value) => isSame(value, rule)],
  ["enum", (rule: Values, value) => rule.some((one) => isSame(value, one))],
  ["not", (rule, _value, place) => !here(rule, place)],
  ["anyOf", (rule: Values, _value, place) => rule.filter((one) => here(one, place)).length > 0],
  ["allOf", (rule: Values, _value, place) => all(rule, place, (one) => here(one, place))],
  ["oneOf", (rule: Values, _value, place) => rule.filter((one) => here(one, place)).length === 1],
  [
    "if",
    (rule, _value, place, { then = true, else: other = true }) => {
      const { faults } = place.run;
      const before = faults.length;
      const holds = here(rule, place);
      faults.length = before;
      return here(holds ? then : other, place);
    },
  ],
];

function dependents(rule: Members, value: Members, place: CheckPlace): boolean {
  return all(Object.entries(rule), place, ([key, needed]) => {
    if (!Object.hasOwn(value, key)) return true;
    return Array.isArray(needed) ? needed.every((name: string) => Object.hasOwn(value, name)) : here(needed, place);
  });
}

const OBJECT: Table = [
  [
    "required",
    (rule: readonly string[], value: Members, place) =>
      all(rule, place, (missing) => {
        const { run, path } = place;
        return Object.hasOwn(value, missing) || !run.faults.push({ keyword: "required", rule, path, value, missing });
      }),
  ],
  ["minProperties", (rule: number, value: Members) => Object.keys(value).length >= rule],
  ["maxProperties", (rule: number, value: Members) => Object.keys(value).length <= rule],
  [
    "propertyNames",
    (rule, value: Members, place) =>
      all(Object.keys(value), place, (key) => keeps(rule, { ...place, value: key, path: below(place.path, key) })),
  ],
  ["dependentRequired", dependents],
  ["dependentSchemas", dependents],
  ["dependencies", dependents],
  [
    "properties",
    (rule: Members, value: Members, place) =>
      all(Object.keys(rule), place, (key) => !Object.hasOwn(value, key) || inside(rule[key], place, key)),
  ],
  [
    "patternProperties",
    (rule: Members, value: Members, place) =>
      all(Object.entries(rule), place, ([pattern, schema]) => {
        const matching = new RegExp(pattern, "u");
        return all(Object.keys(value), place, (key) => !matching.test(key) || inside(schema, place, key));
      }),
  ],
  [
    "additionalProperties",
    (rule, value: Members, place, { properties = {}, patternProperties = {} }) => {
      const patterns = Object.keys(patternProperties as Members).map((pattern) => new RegExp(pattern, "u"));
      const isNamed = (key: string) =>
        Object.hasOwn(properties as Members, key) || patterns.some((one) => one.test(key));
      return all(Object.keys(value), place, (key) => isNamed(key) || inside(rule, place, key));
    },
  ],
  [
    "unevaluatedProperties",
    (rule, value: Members, place) =>
      all(Object.keys(value), place, (key) => place.seen?.has(key) === true || inside(rule, place, key)),
  ],
];

/** Whether each item from one index to another keeps its schema. */
function span(from: number, to: number, place: CheckPlace, schemaAt: (index: number) => unknown): boolean {
  let isKept = true;
  for (let index = from; index < to && (isKept || !place.run.isQuick); index += 1)
    isKept = inside(schemaAt(index), place, index) && isKept;
  return isKept;
}

function prefix(rule: Values, value: Values, place: CheckPlace): boolean {
  return span(0, Math.min(rule.length, value.length), place, (index) => rule[index]);
}

function contained(schema: unknown, value: Values, place: CheckPlace): number {
  const { faults } = place.run;
  const before = faults.length;
  const { length } = value.filter((_, index) => inside(schema, place, index));
  faults.length = before;
  return length;
}

/** Compared as texts: each with each other would be work that grows with the square. */
function isUnique(value: Values): boolean {
  return new Set(value.map(canonicalJson)).size === value.length;
}

const ARRAY: Table = [
  ["maxItems", (rule: number, value: Values) => value.length <= rule],
  ["minItems", (rule: number, value: Values) => value.length >= rule],
  ["prefixItems", prefix],
  [
    "items",
    (rule: unknown, value: Values, place, { prefixItems = [] }) =>
      Array.isArray(rule)
        ? prefix(rule, value, place)
        : span((prefixItems as Values).length, value.length, place, () => rule),
  ],
  [
    "additionalItems",
    (rule, value: Values, place, { items }) =>
      !Array.isArray(items) || span(items.length, value.length, place, () => rule),
  ],
  [
    "contains",
    (rule, value: Values, place, { minContains }) => contained(rule, value, place) > 0 || minContains !== undefined,
  ],
  [
    "minContains",
    (rule: number, value: Values, place, { contains }) =>
      contains === undefined || contained(contains, value, place) >= rule,
  ],
  [
    "maxContains",
    (rule: number, value: Values, place, { contains }) =>
      contains === undefined || contained(contains, value, place) <= rule,
  ],
  [
    "unevaluatedItems",
    (rule, value: Values, place) =>
      span(0, value.length, place, (index) => place.seen?.has(String(index)) === true || rule),
  ],
  ["uniqueItems", (rule, value: Values) => !rule || isUnique(value)],
];

/** In draft 4 `exclusiveMinimum` and `exclusiveMaximum` are true or false, and speak of the limit beside them. */
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
  // A character has one unit or two, so of a long text nothing has to be counted.
  ["minLength", (rule: number, value: string) => value.length >= 2 * rule || charactersOf(value) >= rule],
  ["maxLength", (rule: number, value: string) => value.length <= 2 * rule && charactersOf(value) <= rule],
  ["pattern", (rule: string, value: string) => new RegExp(rule, "u").test(value)],
  ["format", isOfFormat],
];

const OF_KIND: Readonly<Record<string, Table>> = { object: OBJECT, array: ARRAY, number: NUMBER, string: STRING };

/** Digits, and by how many places they stand to the left: 0.25 is 25 and -2. */
function decimal(value: number): readonly [bigint, number] {
  const [digits = "", exponent = 0] = String(Math.abs(value)).split("e");
  const [whole = "", part = ""] = digits.split(".");
  return [BigInt(whole + part), Number(exponent) - part.length];
}

/** As people write numbers: 19.99 is a multiple of 0.01, whatever their bits say. */
function isMultiple(of: number, value: number): boolean {
  if (!Number.isFinite(value)) return false;
  const [digits, places] = decimal(value);
  const [divisor, itsPlaces] = decimal(of);
  const least = Math.min(places, itsPlaces);
  return (digits * 10n ** BigInt(places - least)) % (divisor * 10n ** BigInt(itsPlaces - least)) === 0n;
}
