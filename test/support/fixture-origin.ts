// Which of the running fixture Workers a test file asks: the one of the slot that it runs in, which it has to itself
// until it ends.

import { inject } from "vitest";

/** Without a trailing slash. */
export function fixtureOrigin(): string {
  const slot = Number(process.env["VITEST_POOL_ID"]);
  const origin = inject("fixtureOrigins")?.[slot - 1];
  if (origin === undefined) throw new Error(`no fixture Worker runs for slot ${slot}: is this file of project e2e?`);
  return origin;
}
