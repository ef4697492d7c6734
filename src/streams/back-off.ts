// Owns how long whoever failed waits before the next try. Refuses to decide how often there is one.

import type { Clock } from "../mcp-client/clock.ts";

const FIRST_MS = 500;
const MOST_MS = 8000;

/** Milliseconds: about twice as many after each failure. `failures`: before this one. */
export function backOff(failures: number, { random }: Pick<Clock, "random">): number {
  return Math.min(FIRST_MS * 2 ** failures, MOST_MS) * (0.5 + random());
}
