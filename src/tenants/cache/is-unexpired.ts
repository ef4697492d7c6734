// Owns whether what an isolate remembers until some time still holds. The machine's clock may have been ahead when that
// was written down, and be right again. Refuses to let anything last longer than it was meant to.

/** The clock of a request stands while it waits for nothing, so another one's may be ahead of it. */
const CLOCK_SKEW_MS = 1000;

/** `until`: milliseconds since the epoch, `mostMs` from when it was written down at most. */
export function isUnexpired(until: number, maxMs: number, now: number): boolean {
  return now < until && until - now <= maxMs + CLOCK_SKEW_MS;
}
