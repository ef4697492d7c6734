// Validates a value against a schema of the contract, and lists each broken rule under the path of its member.

import type * as z from "zod";
import { typeName } from "../handlers/json-schema.ts";
import { suggestName } from "../protocol/did-you-mean.ts";
import { atLeast, atMost, resetIssueCount } from "./schema-parts.ts";
import { MAX_FIELD_RULES, type FieldRule } from "../tenants/document/tenant-document.ts";

export type Validation<T> = { readonly value: T } | { readonly errors: readonly FieldRule[] };

/**
 * The number of unknown texts already compared with the known ones in this value. Each comparison takes time, and an
 * answer shows few.
 */
let comparisonCount = 0;

export function validate<S extends z.ZodType>(schema: S, value: unknown): Validation<z.output<S>> {
  resetIssueCount();
  comparisonCount = 0;
  const { success, data, error } = schema.safeParse(value, { error: ruleOf });
  return success ? { value: data } : { errors: toFieldErrors(error.issues) };
}

function toFieldErrors(issues: readonly z.core.$ZodIssue[]): readonly FieldRule[] {
  // Values that are too long are not inspected further: the sender chose their length.
  const oversized = new Set(issues.filter(({ code }) => code === "too_big").map(({ path }) => path.join(".")));
  const isInside = (path: readonly PropertyKey[]) =>
    oversized.size > 0 && path.some((_part, at) => oversized.has(path.slice(0, at).join(".")));
  const errors: FieldRule[] = [];
  for (const { path, message, ...issue } of issues) {
    if (errors.length > MAX_FIELD_RULES) break;
    if (isInside(path)) continue;
    // A message about several members has one line for each.
    for (const [at, rule] of message.split("\n").entries()) {
      const member = issue.code === "unrecognized_keys" ? [issue.keys[at] ?? ""] : [];
      errors.push({ field: [...path, ...member].join("."), rule });
    }
  }
  return errors.slice(0, MAX_FIELD_RULES + 1);
}

const TYPES: Readonly<Record<string, string>> = { record: "object", int: "integer" };

function ruleOf(issue: z.core.$ZodRawIssue): string | undefined {
  const { input } = issue;
  switch (issue.code) {
    case "invalid_type":
      return input === undefined ? "is required" : `expected ${typeOf(issue)}, received ${typeName(input)}`;
    case "invalid_value":
      return enumRule(input, issue.values);
    case "invalid_union":
      return enumRule(
        (input as Record<string, unknown>)[String(issue.discriminator)],
        issue.options as readonly unknown[],
      );
    case "unrecognized_keys":
      return unknownNameRules(issue.keys, Object.keys((issue.inst as z.ZodObject).shape));
    case "invalid_key":
      return issue.issues.map(({ message }) => message).join("\n");
    case "too_small":
      return atLeast(Number(issue.minimum), UNITS[issue.origin]);
    case "too_big":
      return atMost(Number(issue.maximum), UNITS[issue.origin]);
    // The schemas of the contract word these messages themselves.
    case "custom":
    case "invalid_element":
    case "invalid_format":
    case "not_multiple_of":
      return undefined;
  }
}

const UNITS: Readonly<Record<string, string>> = { array: "item" };

function typeOf({ expected, inst }: z.core.$ZodRawIssue<z.core.$ZodIssueInvalidType>): string {
  const isWhole = (inst?._zod.def as { format?: string } | undefined)?.format === "safeint";
  return isWhole ? "integer" : (TYPES[expected] ?? expected);
}

function enumRule(value: unknown, values: readonly unknown[]): string {
  if (value === undefined) return "is required";
  const choices = `one of ${values.join(", ")}`;
  if (typeof value !== "string") return `expected string, received ${typeName(value)}: ${choices}`;
  return choices + suggestionText(value, values.map(String));
}

/** One line for each name. */
function unknownNameRules(names: readonly string[], validNames: readonly string[]): string {
  const rules = names
    .slice(0, MAX_FIELD_RULES + 1)
    .map((name) => `is not a known field${suggestionText(name, validNames)}`);
  return rules.join("\n");
}

function suggestionText(text: string, validTexts: readonly string[]): string {
  comparisonCount += 1;
  const suggestion = comparisonCount > MAX_FIELD_RULES + 1 ? undefined : suggestName(text, validTexts);
  return suggestion === undefined ? "" : `: did you mean ${suggestion}?`;
}
