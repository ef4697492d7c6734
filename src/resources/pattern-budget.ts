// Limits the time spent on matching names against patterns with `*` or `?` inside: it blocks all other requests in the
// isolate.

import { AppError } from "../protocol/app-error.ts";
import type { Patterns } from "../tenants/document/tenant-document.ts";
import { fullGlobLength } from "../tenants/document/visibility.ts";
import { isVisibleUri } from "./visible-ranges.ts";

/** Characters of names times characters of patterns: about 200 ms of CPU for the slowest patterns. */
export const MAX_PATTERN_WORK = 150_000_000;

function fullGlobLengthOf(only: readonly Patterns[]): number {
  const lengths = only.map((resources) => fullGlobLength({}, { profile: { resources }, scopes: undefined }));
  return lengths.reduce((sum, length) => sum + length, 0);
}

/** Counts the work of one request: returns whether it may match one more URI against these patterns. */
export function createPatternBudget(only: readonly Patterns[] = []): (uri: string) => boolean {
  const patternLength = fullGlobLengthOf(only);
  let remaining = MAX_PATTERN_WORK;
  return (uri) => (remaining -= patternLength * uri.length) >= 0;
}

/** `isVisibleUri` for one request. Returns undefined as soon as the request's URIs exceed the budget. */
export function createVisibilityCheck(only: readonly Patterns[]): (uri: string) => boolean | undefined {
  const withinBudget = createPatternBudget(only);
  return (uri) => (withinBudget(uri) ? isVisibleUri(uri, only) : undefined);
}

export function tooManyPatternsError(): AppError {
  const message = "Refused: too many patterns with * or ? inside for the number of resources, see docs/limits.md";
  return new AppError("refused", { message });
}
