// Owns how long clients may keep what an author's resource answers. Refuses to have anything shared that is not everybody's.

import type { RequestScope } from "./request-scope.ts";
import type { CallOutcome } from "../protocol/call-outcome.ts";

export interface CacheOptions {
  /** Milliseconds. */
  readonly ttlMs: number;
  /** `public`: it is the same for all callers, and may be shared where the tenant is open; `private` when absent. */
  readonly scope?: "public" | "private";
}

/** Throws a TypeError that names the member. */
export function checkCache(what: string, cache: CacheOptions | undefined): void {
  if (cache && !(Number.isInteger(cache.ttlMs) && cache.ttlMs >= 0)) {
    throw new TypeError(`${what}: cache.ttlMs is a whole number from 0 on`);
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
