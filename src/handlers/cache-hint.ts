// How long clients may cache an author's resource. Content that differs by caller is never marked as shared.

import type { RequestScope } from "./request-scope.ts";
import type { CallOutcome } from "../protocol/call-outcome.ts";

export interface CacheOptions {
  /** Milliseconds, a whole number from 0. */
  readonly ttlMs: number;
  /**
   * `private` by default. With `public`, shared caches may store the content, if the tenant is open to everyone.
   * Use `public` only if the content is the same for all callers.
   */
  readonly scope?: "public" | "private";
}

/** Throws a TypeError that names the member. */
export function checkCache(what: string, cache: CacheOptions | undefined): void {
  if (cache && !(Number.isInteger(cache.ttlMs) && cache.ttlMs >= 0)) {
    throw new TypeError(`${what}: cache.ttlMs must be a whole number, 0 or more`);
  }
}

export function withCache<T extends CallOutcome>(
  outcome: T,
  cache: CacheOptions | undefined,
  requestScope: RequestScope,
): T {
  if (!cache || outcome.kind !== "complete") return outcome;
  const { ttlMs, scope } = cache;
  return { ...outcome, cache: { ttlMs, cacheScope: scope === "public" ? requestScope.access.cacheScope : "private" } };
}
