// Owns doing something about work that turns out to be slow, without a timer for the work that does not. Refuses to be
// exact: it may be a second later. The work waits for I/O or has a timer of its own, as handlers have, because the platform ends
// an invocation that waits for nothing.

import { Overdue, type Lasting } from "./overdue.ts";

export const SLOW_AFTER_MS = 2000;

/** Apart from others, because all that wait here wait equally long. Bound: what requests under way wait for. */
const SLOW = new Overdue();

/** Runs it in the caller's own invocation, once. Gives what takes that back. */
export function whenSlow(by: Lasting, now: number, run: () => void): () => void {
  let isOver = false;
  let giveUp = () => {};
  const slow = new Promise<void>((resolve) => {
    giveUp = resolve;
  });
  void slow.then(() => {
    if (!isOver) run();
  });
  const one = { due: now + SLOW_AFTER_MS, giveUp };
  SLOW.begin(one, now, by);
  return () => {
    isOver = true;
    SLOW.end(one);
  };
}
