// A clock for tens of thousands who wait at once, and dice that fall the same way each time: nobody sleeps, and what is
// due in the same millisecond happens in it.

import type { Clock } from "../../src/mcp-client/clock.ts";

/** Steps that a chain of promises takes at most between two timers. */
const STEPS = 60;

export class CrowdClock implements Clock {
  #now = 0;
  #dice: number;
  readonly #due = new Map<number, Set<() => void>>();

  constructor(seed: number) {
    this.#dice = seed >>> 0;
  }

  readonly now = (): number => this.#now;

  /** https://en.wikipedia.org/wiki/Linear_congruential_generator */
  readonly random = (): number => {
    this.#dice = (Math.imul(this.#dice, 1_664_525) + 1_013_904_223) >>> 0;
    return this.#dice / 2 ** 32;
  };

  readonly schedule = (milliseconds: number, run: () => void): (() => void) => {
    const at = this.#now + Math.ceil(milliseconds);
    const due = this.#due.get(at) ?? new Set();
    this.#due.set(at, due.add(run));
    return () => void due.delete(run);
  };

  /** What was begun, up to where it waits for a timer. */
  async settle(): Promise<void> {
    for (let step = 0; step < STEPS; step += 1) await Promise.resolve();
  }

  async advance(milliseconds: number): Promise<void> {
    const until = this.#now + milliseconds;
    await this.settle();
    for (; this.#now <= until; this.#now += 1) {
      for (let due = this.#due.get(this.#now); due?.size; due = this.#due.get(this.#now)) {
        this.#due.delete(this.#now);
        for (const run of due) run();
        await this.settle();
      }
    }
    this.#now = until;
  }
}
