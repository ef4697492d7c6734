// Owns how often something may be done: so many times at once, and a few times more for each second that passes.
// Refuses to wait until there is enough again: that is for its owner to decide.

import type { Clock } from "./clock.ts";

export interface BudgetSize {
  /** What there is at the beginning, and never more than that. */
  readonly most: number;
  readonly perSecond: number;
}

export class Budget {
  readonly #clock: Pick<Clock, "now">;
  readonly #size: BudgetSize;
  #left: number;
  #countedAt: number;

  constructor(clock: Pick<Clock, "now">, size: BudgetSize) {
    this.#clock = clock;
    this.#size = size;
    this.#left = size.most;
    this.#countedAt = clock.now();
  }

  get most(): number {
    return this.#size.most;
  }

  /** False where there is not enough left; then nothing is taken. */
  take(count = 1): boolean {
    const now = this.#clock.now();
    const { most, perSecond } = this.#size;
    // A clock that was set back gives nothing, and takes nothing away either.
    const gained = (Math.max(0, now - this.#countedAt) / 1000) * perSecond;
    this.#left = Math.min(most, this.#left + gained);
    this.#countedAt = now;
    if (this.#left < count) return false;
    this.#left -= count;
    return true;
  }
}
