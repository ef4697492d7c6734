// Building blocks of the contract: zod schemas with rules worded for people. `meta` holds the JSON Schema keywords of
// rules that zod checks in another way; the OpenAPI document uses them.

import * as z from "zod";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import { charactersOf } from "../protocol/characters.ts";
import { parseUri } from "../protocol/uri.ts";
import { SECRET_NAME_RULE, secretNameOf } from "../tenants/document/secret-name.ts";

type Optional<M extends z.ZodRawShape> = { [Name in keyof M]: z.ZodExactOptional<M[Name]> };

/** A closed object: required members, then optional ones. */
export function object<R extends z.ZodRawShape>(members: R): z.ZodObject<R, z.core.$strict>;
export function object<R extends z.ZodRawShape, O extends z.ZodRawShape>(
  members: R,
  optional: O,
): z.ZodObject<R & Optional<O>, z.core.$strict>;
export function object(members: z.ZodRawShape, optional: z.ZodRawShape = {}): z.ZodObject {
  const optionalMembers = Object.entries(optional).map(([name, schema]) => [name, z.exactOptional(schema)] as const);
  return z.strictObject({ ...members, ...Object.fromEntries(optionalMembers) });
}

/** `rule`: the message for a value of another type. A missing member gets "is required" instead. */
export const typeError = (rule: string) => ({
  error: ({ code, input }: { code: string; input?: unknown }) =>
    code === "invalid_type" && input !== undefined ? rule : undefined,
});

export function textMatching(pattern: RegExp, rule: string) {
  return z.string(typeError(rule)).regex(pattern, rule).meta({ "x-rule": rule });
}

/** A text that matches a pattern, of at most `maxLength` UTF-16 code units. */
export function matchingUpTo(pattern: RegExp, rule: string, maxLength: number) {
  const isLong = (text: string) => (text.length > maxLength ? atMost(maxLength, "character") : undefined);
  return withRule(textMatching(pattern, rule), isLong).meta({ maxLength });
}

/** A text of at most `maxLength` characters, counted as whole characters rather than UTF-16 code units. */
export function textUpTo(maxLength: number, minLength = 0) {
  return withRule(z.string(), (text) => {
    if (text.length < minLength) return atLeast(minLength, "character");
    return text.length > maxLength && charactersOf(text) > maxLength ? atMost(maxLength, "character") : undefined;
  }).meta({ maxLength, ...(minLength > 0 && { minLength }) });
}

export function integer(minimum: number, maximum: number) {
  return z.int().min(minimum).max(maximum);
}

export interface ListLimits {
  readonly max: number;
  readonly min?: number;
  /** Rejects a repeated text. */
  readonly isDistinct?: true;
  /** The member that must differ between items. */
  readonly uniqueBy?: string;
}

export function list<I extends z.ZodType>(item: I, { max, min = 0, isDistinct, uniqueBy }: ListLimits) {
  const items = min > 0 ? z.array(item).min(min).max(max) : z.array(item).max(max);
  const nameOf = (value: unknown) => (isObject(value) && uniqueBy !== undefined ? value[uniqueBy] : value);
  if (isDistinct)
    return bounded(withRule(items, mustDiffer(nameOf, "must not have an item twice")), { uniqueItems: true });
  if (uniqueBy === undefined) return bounded(items);
  return bounded(withRule(items, mustDiffer(nameOf, `${uniqueBy}s must differ`)), { "x-uniqueBy": uniqueBy });
}

const mustDiffer = (nameOf: (item: unknown) => unknown, rule: string) => (items: readonly unknown[]) =>
  new Set(items.map(nameOf)).size === items.length ? undefined : rule;

/** Members by name, at most `max` of them. */
export function record<N extends z.ZodType<string, string>, V extends z.ZodType>(name: N, value: V, max: number) {
  return bounded(z.record(name, value), { maxProperties: max });
}

/** The most issues collected in one value. Each issue counts at each level above it. */
const MAX_ISSUES = 1000;
let issueCount = 0;

/** Call before each validation. */
export function resetIssueCount(): void {
  issueCount = 0;
}

/**
 * A list or record that is skipped after enough issues, or if it has too many members. zod alone visits everything:
 * 0.8 MB with 400,000 wrong patterns took 3.4 s and 400 MB.
 */
function bounded<S extends z.ZodType>(schema: S, meta: { readonly maxProperties?: number } & z.GlobalMeta = {}) {
  const { maxProperties: max = Infinity } = meta;
  const counted = schema.refine(() => true, {
    when: ({ value, issues }) => {
      // zod also tries an absent optional member, and drops the issues that it finds there.
      if (value !== undefined) issueCount += issues.length;
      return false;
    },
  });
  const checkSize = (value: z.input<S>, { issues }: z.core.$RefinementCtx): z.input<S> => {
    const isLong = isObject(value) && Object.keys(value).length > max;
    if (isLong) issues.push({ code: "custom", input: value, message: atMost(max, "field") });
    else if (issueCount > MAX_ISSUES)
      issues.push({ code: "custom", input: value, message: "is not checked, because there are too many errors" });
    return value;
  };
  return z.preprocess(checkSize, counted).meta(meta);
}

/** Adds a check that returns its own message. */
export function withRule<S extends z.ZodType>(schema: S, ruleOf: (value: z.output<S>) => string | undefined): S {
  return schema.check(({ value, issues }) => {
    const rule = ruleOf(value);
    if (rule !== undefined) issues.push({ code: "custom", input: value, message: rule });
  });
}

export const atLeast = (count: number, what = "") => `at least ${countOf(count, what)}`;
export const atMost = (count: number, what = "") => `at most ${countOf(count, what)}`;

function countOf(count: number, what: string): string {
  return what === "" ? String(count) : `${count} ${what}${count === 1 ? "" : "s"}`;
}

/** RFC 3339 in UTC, with a Z at the end. */
export const Timestamp = withRule(z.string(), (text) =>
  ISO_UTC.test(text) && isDay(text) ? undefined : "a time in UTC such as 2026-11-22T10:00:00Z, on a day that exists",
).meta({ format: "date-time" });

const ISO_UTC = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?Z$/;

/** Whether the date exists. `Date.parse` reads February 30 as a day in March. */
function isDay(text: string): boolean {
  const time = Date.parse(text);
  return !Number.isNaN(time) && new Date(time).toISOString().slice(0, 10) === text.slice(0, 10);
}

export const Uri = withRule(z.string(), (text) => {
  const parsed = parseUri(text);
  return "broken" in parsed ? parsed.broken : undefined;
}).meta({ format: "uri" });

export const Origin = withRule(z.string(), (text) =>
  /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text
    ? undefined
    : "an origin such as https://app.example.com, without a path",
).meta({ format: "origin" });

/** Secret names are case-insensitive. */
export const SecretName = withRule(z.string(), (text) =>
  secretNameOf(text) === undefined ? SECRET_NAME_RULE : undefined,
).meta({ format: "secret-name" });

export const NullableText = z.nullable(z.string());
export const NullableTimestamp = z.nullable(Timestamp);

/** Converts a schema of the contract to self-contained JSON Schema. */
export function jsonSchemaOf(schema: z.ZodType): JsonObject {
  return { ...z.toJSONSchema(schema, { io: "input", override: omitSafeIntegerBounds }) };
}

/** Removes the bounds of JavaScript's safe integers, which are no rule of this API. */
export function omitSafeIntegerBounds({ jsonSchema }: { readonly jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
}
