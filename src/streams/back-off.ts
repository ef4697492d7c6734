// How long to wait after a failure before the next attempt.

import type { Clock } from "../mcp-client/clock.ts";

const FIRST_MS = 500;
const MOST_MS = 8000;

/** Milliseconds: about twice as many after each failure. `failures`: the number before this one. */
export function backOff(failures: number, { random }: Pick<Clock, "random">): number {
  return Math.min(FIRST_MS * 2 ** failures, MOST_MS) * (0.5 + random());
}
