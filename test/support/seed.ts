// Where the tests that draw their cases begin: anew in each run, which prints it, or where SEED says.

import { inject } from "vitest";

declare module "vitest" {
  export interface ProvidedContext {
    seed: number;
  }
}

/** Among the parameters of `fc.assert`. */
export const SEED = { seed: inject("seed") };
