// Owns how long to wait before something is tried again: longer after each failure, never shorter than the server asks,
// and spread by chance, so that all clients of a server that was down do not come back at the same moment.

import type { Clock } from "./clock.ts";

const FIRST_MS = 1000;
const MAX_DELAY_MS = 30_000;
/** A connection that held for so long was a success. */
const STABLE_MS = 10_000;
/** More than an hour is not waited, whatever a server asks. */
const MAX_RETRY_AFTER_MS = 3_600_000;
const MAX_DOUBLINGS = 5;

export class Backoff {
  readonly #clock: Clock;
  #failures = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Tells how the last connection was. Only one that held for `STABLE_MS` ends the series of failures: some servers
   * close every connection as soon as it opens. A shorter one that was useful makes the series short.
   */
  recordConnection(openMs: number, wasUseful: boolean): void {
    if (openMs >= STABLE_MS) this.#failures = 0;
    else if (wasUseful) this.#failures = Math.min(this.#failures, 1);
  }

  /** How many milliseconds to wait now. `wishMs`: what the server asks for; undefined where it asks for nothing. */
  nextDelayMs(requestedMs: number | undefined): number {
    const minMs = requestedMs === undefined ? undefined : Math.min(requestedMs, MAX_RETRY_AFTER_MS);
    const isFirst = this.#failures === 0;
    const doublings = Math.min(Math.max(0, this.#failures - 1), MAX_DOUBLINGS);
    this.#failures += 1;
    // The first time is no failure yet: streams end now and then, and a server that names a time has chosen it.
    if (isFirst && minMs !== undefined) return minMs;
    const maxMs = Math.min(Math.max(minMs ?? 0, FIRST_MS) * 2 ** doublings, MAX_DELAY_MS);
    // A random time between half of the longest and all of it.
    return Math.max(minMs ?? 0, Math.round(maxMs * (0.5 + this.#clock.random() / 2)));
  }
}
