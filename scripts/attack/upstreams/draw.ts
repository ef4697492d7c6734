// What attacks draw by chance: from the seed of the run, apart for each attack, so that SEED=N makes the same ones in
// whatever order they run.

import { randomInt } from "node:crypto";

export class Draw {
  #state: number;

  constructor(seed: number, name: string) {
    this.#state = Array.from(name).reduce(
      (state, char) => Math.imul(state ^ (char.codePointAt(0) ?? 0), 0x01000193),
      seed,
    );
  }

  /** A whole number below `end`. */
  below(end: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % end;
  }

  one<T>(all: readonly [T, ...T[]]): T {
    return all[this.below(all.length)] ?? all[0];
  }

  shuffled<T>(all: readonly T[]): T[] {
    return all
      .map((value) => ({ value, at: this.below(2 ** 31) }))
      .toSorted((a, b) => a.at - b.at)
      .map(({ value }) => value);
  }
}

/** Anew in each run, or as SEED says. */
export function seedOfRun(): number {
  const given = process.env["SEED"];
  return given === undefined ? randomInt(2 ** 31) : Number(given);
}
