// A clock that stands still until a test moves it, so that no test waits for a time or depends on one.

import type { Clock } from "../../src/mcp-client/clock.ts";

interface Timer {
  readonly at: number;
  /** As it was asked for. */
  readonly milliseconds: number;
  readonly run: () => void;
}

export class ManualClock implements Clock {
  /** What the next roll of the dice says. */
  chance = 0;
  #now = Date.UTC(2026, 10, 22);
  readonly #timers = new Set<Timer>();
  #waiting: (() => void)[] = [];

  now(): number {
    return this.#now;
  }

  random(): number {
    return this.chance;
  }

  schedule(milliseconds: number, run: () => void): () => void {
    const timer = { at: this.#now + milliseconds, milliseconds, run };
    this.#timers.add(timer);
    for (const wake of this.#waiting.splice(0)) wake();
    return () => void this.#timers.delete(timer);
  }

  /** The lengths of the timers that are set. */
  get pending(): number[] {
    return [...this.#timers].map(({ milliseconds }) => milliseconds);
  }

  /** Until somebody waits for so long. */
  async untilWaitsFor(milliseconds: number): Promise<void> {
    while (!this.pending.includes(milliseconds)) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** Timers run in the order of their times. */
  advance(milliseconds: number): void {
    const until = this.#now + milliseconds;
    for (let next = this.#first(until); next; next = this.#first(until)) {
      this.#timers.delete(next);
      this.#now = next.at;
      next.run();
    }
    this.#now = until;
  }

  #first(until: number): Timer | undefined {
    return [...this.#timers].filter(({ at }) => at <= until).toSorted((one, other) => one.at - other.at)[0];
  }
}
