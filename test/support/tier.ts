// Owns how much a test does that is long by nature: little of it in `npm test`, all of it in the long tier, which runs the
// files that import this one. Refuses differences of kind: a test claims the same in both.

import { inject } from "vitest";

declare module "vitest" {
  export interface ProvidedContext {
    long: boolean;
  }
}

/** `usual`: in `npm test`; `long`: in `npm run test:full` and in CI. */
export function sized<T>({ usual, long }: { readonly usual: T; readonly long: T }): T {
  return inject("long") ? long : usual;
}
