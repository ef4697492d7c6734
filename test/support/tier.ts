// Owns how much a test does that is long by nature: little of it in `npm test`, more in the long tier, all of it in a soak;
// these two run the files that import this one. Refuses differences of kind: a test claims the same in all three.

import { inject } from "vitest";

export type Tier = "usual" | "long" | "soak";

declare module "vitest" {
  export interface ProvidedContext {
    tier: Tier;
  }
}

interface Sizes<T> {
  /** In `npm test`. */
  readonly usual: T;
  /** In `npm run test:full` and in CI. */
  readonly long: T;
  /** In `npm run soak`; as `long` when absent. */
  readonly soak?: T;
}

export function sized<T>({ usual, long, soak = long }: Sizes<T>): T {
  return { usual, long, soak }[inject("tier")];
}
