// Chance that can be had again: the same draws after the same seed.

import { createHash } from "node:crypto";

export interface Draws {
  /** From 0 to 1. */
  unit(): number;
  /** A whole number from 0, smaller than `count`. */
  below(count: number): number;
  chance(probability: number): boolean;
  pick<T>(list: readonly T[]): T;
  /** Each with the same chance, so possibly none. */
  some<T>(list: readonly T[], probability?: number): T[];
  /** Draws of their own, for what runs beside others: their order is nobody's to say. */
  fork(): Draws;
}

export function createDraws(seed: number): Draws {
  let drawn = 0;
  const unit = () =>
    createHash("sha256")
      .update(`${seed} ${(drawn += 1)}`)
      .digest()
      .readUInt32BE() /
    2 ** 32;
  const below = (count: number) => Math.floor(unit() * count);
  const chance = (probability: number) => unit() < probability;
  return {
    unit,
    below,
    chance,
    pick: <T>(list: readonly T[]) => list[below(list.length)] as T,
    some: <T>(list: readonly T[], probability = 0.5) => list.filter(() => chance(probability)),
    fork: () => createDraws(Math.floor(unit() * 2 ** 32)),
  };
}
