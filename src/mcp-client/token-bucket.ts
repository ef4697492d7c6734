// A token bucket: a burst of `capacity`, refilled at `perSecond`. Does not wait for tokens; that is for the caller to
// decide.

import type { Clock } from "./clock.ts";

export interface TokenBucketSize {
  /** The initial and maximum number of tokens. */
  readonly capacity: number;
  readonly perSecond: number;
}

export class TokenBucket {
  readonly #clock: Pick<Clock, "now">;
  readonly #size: TokenBucketSize;
  #tokens: number;
  #countedAt: number;

  constructor(clock: Pick<Clock, "now">, size: TokenBucketSize) {
    this.#clock = clock;
    this.#size = size;
    this.#tokens = size.capacity;
    this.#countedAt = clock.now();
  }

  get capacity(): number {
    return this.#size.capacity;
  }

  /** Returns false if there are not enough tokens, and then takes none. */
  take(count = 1): boolean {
    const now = this.#clock.now();
    const { capacity, perSecond } = this.#size;
    // A clock that was set back adds no tokens and removes none.
    const gained = (Math.max(0, now - this.#countedAt) / 1000) * perSecond;
    this.#tokens = Math.min(capacity, this.#tokens + gained);
    this.#countedAt = now;
    if (this.#tokens < count) return false;
    this.#tokens -= count;
    return true;
  }
}
