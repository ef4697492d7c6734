// Whether a value that an isolate caches until some time still holds. The clock may have been ahead when the time was
// set. So a value never lasts longer than it was meant to.

/** A request's clock stands still while it computes, so another request's clock may be ahead of it. */
const CLOCK_SKEW_MS = 1000;

/** `until`: milliseconds since the epoch, at most `maxMs` after the time when it was set. */
export function isUnexpired(until: number, maxMs: number, now: number): boolean {
  return now < until && until - now <= maxMs + CLOCK_SKEW_MS;
}
