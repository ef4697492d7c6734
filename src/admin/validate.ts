// Says which rules of a schema of the contract a value breaks, each under the path of its member.

import type * as z from "zod";
import { typeName } from "../handlers/json-schema.ts";
import { nearestName } from "../protocol/did-you-mean.ts";
import { MAX_ERRORS, type FieldRule } from "./field-rule.ts";
import { atLeast, atMost, resetIssueCount } from "./schema-parts.ts";

export type Validation<T> = { readonly value: T } | { readonly errors: readonly FieldRule[] };

/** How many unknown names of this value were compared with the known ones: each comparison takes time, and few are shown. */
let comparisonCount = 0;

export function validate<S extends z.ZodType>(schema: S, value: unknown): Validation<z.output<S>> {
  resetIssueCount();
  comparisonCount = 0;
  const { success, data, error } = schema.safeParse(value, { error: ruleOf });
  return success ? { value: data } : { errors: toFieldErrors(error.issues) };
}

export function validationErrors(schema: z.ZodType, value: unknown): readonly FieldRule[] {
  const validation = validate(schema, value);
  return "errors" in validation ? validation.errors : [];
}

function toFieldErrors(issues: readonly z.core.$ZodIssue[]): readonly FieldRule[] {
  // What is too long is not looked into: how long it is was for the sender to choose.
  const oversized = new Set(issues.filter(({ code }) => code === "too_big").map(({ path }) => path.join(".")));
  const isInside = (path: readonly PropertyKey[]) =>
    oversized.size > 0 && path.some((_part, at) => oversized.has(path.slice(0, at).join(".")));
  const errors: FieldRule[] = [];
  for (const { path, message, ...issue } of issues) {
    if (errors.length > MAX_ERRORS) break;
    if (isInside(path)) continue;
    // What is said of several members is a line for each.
    for (const [at, rule] of message.split("\n").entries()) {
      const member = issue.code === "unrecognized_keys" ? [issue.keys[at] ?? ""] : [];
      errors.push({ field: [...path, ...member].join("."), rule });
    }
  }
  return errors.slice(0, MAX_ERRORS + 1);
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
    // The schemas of the contract say these themselves.
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
  return typeof value === "string" ? choices : `expected string, received ${typeName(value)}: ${choices}`;
}

/** A line for each. What is much longer than every known name is compared with none. */
function unknownNameRules(names: readonly string[], validNames: readonly string[]): string {
  const rules = names.slice(0, MAX_ERRORS + 1).map((name) => {
    comparisonCount += 1;
    const suggestion = comparisonCount > MAX_ERRORS + 1 ? undefined : nearestName(name, validNames);
    return `is not known here${suggestion === undefined ? "" : `: did you mean ${suggestion}?`}`;
  });
  return rules.join("\n");
}
