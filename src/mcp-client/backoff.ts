// Retry delays: exponential, never shorter than the server asks, and random, so that clients of a server that was down
// do not return together.

import type { Clock } from "./clock.ts";

const FIRST_MS = 1000;
const MAX_DELAY_MS = 30_000;
/** A connection that lasted this long was a success. */
const STABLE_MS = 10_000;
/** Caps what a server may ask for at one hour. */
const MAX_RETRY_AFTER_MS = 3_600_000;
const MAX_DOUBLINGS = 5;

export class Backoff {
  readonly #clock: Clock;
  #failures = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Records the last connection. Only one that lasted STABLE_MS ends the series of failures, because some servers close
   * every connection as soon as it opens. A shorter useful one shortens the series.
   */
  recordConnection(openMs: number, wasUseful: boolean): void {
    if (openMs >= STABLE_MS) this.#failures = 0;
    else if (wasUseful) this.#failures = Math.min(this.#failures, 1);
  }

  /** Milliseconds to wait now. `requestedMs` is what the server asks for, or undefined. */
  nextDelayMs(requestedMs: number | undefined): number {
    const minMs = requestedMs === undefined ? undefined : Math.min(requestedMs, MAX_RETRY_AFTER_MS);
    const isFirst = this.#failures === 0;
    const doublings = Math.min(Math.max(0, this.#failures - 1), MAX_DOUBLINGS);
    this.#failures += 1;
    // The first break is no failure yet: streams end now and then, and a server that names a delay has chosen it.
    if (isFirst && minMs !== undefined) return minMs;
    const maxMs = Math.min(Math.max(minMs ?? 0, FIRST_MS) * 2 ** doublings, MAX_DELAY_MS);
    return Math.max(minMs ?? 0, Math.round(maxMs * (0.5 + this.#clock.random() / 2)));
  }
}
