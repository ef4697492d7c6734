// Owns how long to wait before a connection is tried again: longer each time in vain, never shorter than the server asks.

import { setTimeout as sleep } from "node:timers/promises";

const FIRST_MS = 1000;
const LONGEST_MS = 30_000;

export class Backoff {
  #failures = 0;

  /** The connection was good for something. */
  reset(): void {
    this.#failures = 0;
  }

  nextMs(askedMs: number | undefined): number {
    const base = askedMs ?? FIRST_MS;
    // The first time is no failure yet: streams end now and then.
    const grown = this.#failures === 0 ? base : Math.max(base, FIRST_MS) * 2 ** Math.min(this.#failures - 1, 5);
    this.#failures += 1;
    return Math.max(base, Math.min(grown, LONGEST_MS));
  }
}

/** False: interrupted. */
export async function pause(milliseconds: number, signal: AbortSignal): Promise<boolean> {
  await sleep(milliseconds, undefined, { signal }).catch(() => undefined);
  return !signal.aborted;
}
