// Bounds how long names are held against patterns with `*` or `?` inside: meanwhile all others in the isolate wait.

import { AppError } from "../../protocol/app-error.ts";
import type { Patterns } from "../../tenants/document/tenant-document.ts";
import { innerLength } from "../../tenants/document/visibility.ts";
import { isSeen } from "./seen-ranges.ts";

/** Characters of names times characters of patterns: of the slowest there are, about 200 ms of CPU. */
export const MOST_WORK = 150_000_000;

function innerLengthOf(only: readonly Patterns[]): number {
  const lengths = only.map((resources) => innerLength({}, { profile: { resources }, scopes: undefined }));
  return lengths.reduce((sum, length) => sum + length, 0);
}

/** Of one request: whether it may hold one URI more against these patterns. */
export function budgetOf(only: readonly Patterns[] = []): (uri: string) => boolean {
  const each = innerLengthOf(only);
  let left = MOST_WORK;
  return (uri) => (left -= each * uri.length) >= 0;
}

/** `isSeen` for one request; undefined from where its URIs together are more work than that. */
export function boundedSight(only: readonly Patterns[]): (uri: string) => boolean | undefined {
  const mayLook = budgetOf(only);
  return (uri) => (mayLook(uri) ? isSeen(uri, only) : undefined);
}

export function tooManyPatterns(): AppError {
  const message = "Refused: the patterns with * or ? inside are too many for the names that there are, docs/limits.md";
  return new AppError("refused", { message });
}
