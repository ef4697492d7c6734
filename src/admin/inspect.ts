// Owns holding a value against a shape of the contract: every rule that it breaks, under the path of its member. One pass
// in which no member costs more than its own size, whatever was sent, so this is not the validator of tools: that one
// reports each fault once per level, and 100,000 unknown members are more than its stack holds (decision 0024).

import { typeName } from "../calls/json-schema.ts";
import { charactersOf } from "../protocol/characters.ts";
import { isObject } from "../protocol/jsonrpc.ts";
import { nearest } from "../protocol/nearest.ts";
import { parseUri } from "../protocol/uri.ts";
import { SECRET_NAME_RULE, secretNameOf } from "../tenants/document/secret-name.ts";
import type { Format, Shape } from "./shapes.ts";

/** Who mends these asks again, and an answer is not much larger than what was sent. */
const MAX_FAULTS = 100;

export interface FieldRule {
  /** The path of the member. */
  readonly field: string;
  /** What holds for it. */
  readonly rule: string;
}

export function faultsOf(shape: Shape, value: unknown): readonly FieldRule[] {
  const faults: FieldRule[] = [];
  look(shape, value, { path: [], faults });
  return faults;
}

interface Inspection {
  /** Of the value that is being looked at. */
  readonly path: string[];
  readonly faults: FieldRule[];
}

function look(shape: Shape, value: unknown, inspection: Inspection): void {
  const { type, oneOf, "x-rule": rule } = shape;
  if (oneOf) return lookIntoBranch(oneOf, value, inspection);
  if (type !== undefined && !TYPES[type](value)) {
    const choices = shape.enum ? `: one of ${shape.enum.join(", ")}` : "";
    return report(inspection, rule ?? `expected ${type}, received ${typeName(value)}${choices}`);
  }
  const before = inspection.faults.length;
  for (const [keyword, limit] of Object.entries(shape)) {
    const broken = LIMITS[keyword as keyof Shape]?.(limit as never, value as never, shape);
    if (broken !== undefined) report(inspection, broken);
  }
  // What is too long is not looked into: how long it is was for the sender to choose.
  if (inspection.faults.length > before) return;
  if (type === "array") lookAtItems(shape.items, value as readonly unknown[], inspection);
  if (type === "object") lookAtMembers(shape, value as Members, inspection);
}

type Members = Readonly<Record<string, unknown>>;

function report({ path, faults }: Inspection, rule: string): void {
  if (faults.length < MAX_FAULTS) faults.push({ field: path.join("."), rule });
}

/** Looks at a member. A text in place of a shape is what is wrong with any value here. */
function lookAt(name: string | number, shape: Shape | string, value: unknown, inspection: Inspection): void {
  inspection.path.push(String(name));
  if (typeof shape === "string") report(inspection, shape);
  else look(shape, value, inspection);
  inspection.path.pop();
}

function lookAtItems(shape: Shape | undefined, items: readonly unknown[], inspection: Inspection): void {
  if (shape === undefined) return;
  for (const [at, item] of items.entries()) {
    if (inspection.faults.length >= MAX_FAULTS) return;
    lookAt(at, shape, item, inspection);
  }
}

function lookAtMembers(shape: Shape, value: Members, inspection: Inspection): void {
  const { properties = {}, required = [], propertyNames, additionalProperties = {} } = shape;
  for (const name of required) if (!Object.hasOwn(value, name)) lookAt(name, "is required", undefined, inspection);
  for (const name of Object.keys(value)) {
    if (inspection.faults.length >= MAX_FAULTS) return;
    if (propertyNames) lookAt(name, propertyNames, name, inspection);
    const known = Object.hasOwn(properties, name) ? properties[name] : additionalProperties;
    lookAt(name, known || unknownRule(name, properties), value[name], inspection);
  }
}

/** What is much longer than every known name is compared with none. */
function unknownRule(name: string, known: object): string {
  const meant = nearest(name, Object.keys(known));
  return `is not known here${meant === undefined ? "" : `: did you mean ${meant}?`}`;
}

/** Says what is wrong with the branch that a value claims to be, and of no other. */
function lookIntoBranch(branches: readonly Shape[], value: unknown, inspection: Inspection): void {
  const tags = branches.map(({ properties = {} }) => Object.entries(properties).find(([, { const: tag }]) => tag));
  const [name = ""] = tags[0] ?? [];
  const values = tags.map((tag) => tag?.[1].const ?? "");
  const claimed = branches[values.findIndex((tag) => isObject(value) && value[name] === tag)];
  look(claimed ?? { type: "object", properties: { [name]: { enum: values } }, required: [name] }, value, inspection);
}

const TYPES: Readonly<Record<NonNullable<Shape["type"]>, (value: unknown) => boolean>> = {
  array: Array.isArray,
  boolean: (value) => typeof value === "boolean",
  integer: Number.isInteger,
  number: Number.isFinite,
  object: isObject,
  string: (value) => typeof value === "string",
};

/** What a value breaks that is of the shape's type. Keywords that limit nothing are not here. */
const LIMITS: { readonly [Keyword in keyof Shape]?: (limit: never, value: never, shape: Shape) => string | undefined } =
  {
    minLength: (limit: number, text: string) => least(limit, text.length, "character"),
    // As JSON Schema counts, a character outside of the basic plane is one, and not two.
    maxLength: (limit: number, text: string) =>
      text.length > limit ? most(limit, charactersOf(text), "character") : undefined,
    minimum: (limit: number, value: number) => least(limit, value),
    maximum: (limit: number, value: number) => most(limit, value),
    minItems: (limit: number, items: readonly unknown[]) => least(limit, items.length, "item"),
    maxItems: (limit: number, items: readonly unknown[]) => most(limit, items.length, "item"),
    maxProperties: (limit: number, value: object) => most(limit, Object.keys(value).length, "member"),
    enum: (values: readonly string[], value: string) =>
      values.includes(value) ? undefined : `one of ${values.join(", ")}`,
    "x-maxBytes": (limit: number, text: string) =>
      new TextEncoder().encode(text).byteLength > limit ? `at most ${limit} bytes` : undefined,
    pattern: (pattern: string, text: string, { "x-rule": rule }) =>
      matches(pattern, text) ? undefined : (rule ?? `must match ${pattern}`),
    uniqueItems: (_: true, items: readonly unknown[]) =>
      isDistinct(items) ? undefined : "must not name anything twice",
    "x-uniqueBy": (name: string, items: readonly unknown[]) =>
      isDistinct(items.flatMap((item) => (isObject(item) ? [item[name]] : []))) ? undefined : `${name}s must differ`,
    format: (format: Format, text: string) => FORMATS[format](text),
  };

function least(limit: number, count: number, what?: string): string | undefined {
  return count < limit ? `at least ${amount(limit, what)}` : undefined;
}

function most(limit: number, count: number, what?: string): string | undefined {
  return count > limit ? `at most ${amount(limit, what)}` : undefined;
}

function amount(count: number, what: string | undefined): string {
  return what ? `${count} ${what}${count === 1 ? "" : "s"}` : String(count);
}

/** Bound: as many as the contract has. */
const patterns = new Map<string, RegExp>();

function matches(pattern: string, text: string): boolean {
  const known = patterns.get(pattern) ?? new RegExp(pattern, "u");
  patterns.set(pattern, known);
  return known.test(text);
}

function isDistinct(list: readonly unknown[]): boolean {
  return new Set(list).size === list.length;
}

/** What JSON Schema leaves to a function: what is wrong with a text of a format, if anything is. */
const FORMATS: Readonly<Record<Format, (text: string) => string | undefined>> = {
  "date-time": (text) =>
    ISO_UTC.test(text) && isDay(text) ? undefined : "a time in UTC such as 2026-11-22T10:00:00Z, on a day that exists",
  origin: (text) => (isOrigin(text) ? undefined : "an origin such as https://app.example.com, without a path"),
  "secret-name": (text) => (secretNameOf(text) === undefined ? SECRET_NAME_RULE : undefined),
  "tenant-id": (text) => {
    if (text.startsWith("xn--")) return "must not start with xn--";
    return RESERVED.includes(text) ? "is a reserved word" : undefined;
  },
  uri: (text) => {
    const parsed = parseUri(text);
    return "broken" in parsed ? parsed.broken : undefined;
  },
};

const RESERVED = ["admin", "api", "gateway", "healthz", "mcp", "readyz", "www"];

const ISO_UTC = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?Z$/;

/** Whether the date exists. `Date.parse` reads February 30 as a day in March. */
function isDay(text: string): boolean {
  const time = Date.parse(text);
  return !Number.isNaN(time) && new Date(time).toISOString().slice(0, 10) === text.slice(0, 10);
}

function isOrigin(text: string): boolean {
  return /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text;
}
