// Owns whether what an isolate remembers until some time still holds. The machine's clock may have been ahead when that
// was written down, and be right again. Refuses to let anything last longer than it was meant to.

/** `until`: milliseconds since the epoch, `mostMs` from when it was written down at most. */
export function lasts(until: number, mostMs: number, now: number): boolean {
  return now < until && until - now <= mostMs;
}
