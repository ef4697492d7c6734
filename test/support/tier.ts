// How much a test does that is long by nature: little of it in CI, more by hand (`vitest run --mode long FILE`), all of it in a
// soak. A test claims the same in all three.

import { inject } from "vitest";

export type Tier = "usual" | "long" | "soak";

declare module "vitest" {
  export interface ProvidedContext {
    tier: Tier;
  }
}

interface Sizes<T> {
  /** In CI. */
  readonly usual: T;
  /** By hand. */
  readonly long: T;
  /** In `npx vitest run --mode soak`; as `long` when absent. */
  readonly soak?: T;
}

export function sized<T>({ usual, long, soak = long }: Sizes<T>): T {
  return { usual, long, soak }[inject("tier")];
}
