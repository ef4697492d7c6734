// Owns how often something may be done: so many times at once, and a few times more for each second that passes.
// Refuses to wait until there is enough again: that is for its owner to decide.

import type { Clock } from "./clock.ts";

export interface TokenBucketSize {
  /** What there is at the beginning, and never more than that. */
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

  /** False where there is not enough left; then nothing is taken. */
  take(count = 1): boolean {
    const now = this.#clock.now();
    const { capacity, perSecond } = this.#size;
    // A clock that was set back gives nothing, and takes nothing away either.
    const gained = (Math.max(0, now - this.#countedAt) / 1000) * perSecond;
    this.#tokens = Math.min(capacity, this.#tokens + gained);
    this.#countedAt = now;
    if (this.#tokens < count) return false;
    this.#tokens -= count;
    return true;
  }
}
