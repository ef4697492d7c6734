// Owns whether anybody is answered by an upstream at all, as this isolate's calls show: what one caller waits for in vain is
// theirs, and that nobody is answered for a while is news. Bounded. Refuses to keep a call back: circuits do.

import { FAILURES_IN_A_ROW } from "./upstream-circuit.ts";

/** So long nobody is answered, before it is told: whoever asks for what takes too long writes no more than a line a minute. */
const SILENT_MS = 60_000;
const MOST_KNOWN = 1000;

interface Silence {
  /** Since when nobody was answered; milliseconds since the epoch. */
  since: number;
  failures: number;
  isTold: boolean;
}

export class SilentUpstreams {
  /** Those alone whose last call was not answered, the least recently called first. */
  readonly #known = new Map<string, Silence>();

  get size(): number {
    return this.#known.size;
  }

  isTold(key: string): boolean {
    return this.#known.get(key)?.isTold ?? false;
  }

  /** Gives since when nobody was answered, once, where that is to be told now. */
  failed(key: string, now: number): number | undefined {
    const one = this.#known.get(key) ?? { since: now, failures: 0, isTold: false };
    this.#known.delete(key);
    this.#known.set(key, one);
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= MOST_KNOWN) break;
      this.#known.delete(oldest);
    }
    // The clock may have been ahead.
    one.since = Math.min(one.since, now);
    one.failures += 1;
    if (one.isTold || one.failures < FAILURES_IN_A_ROW || now - one.since < SILENT_MS) return undefined;
    one.isTold = true;
    return one.since;
  }

  /** Since when it was silent; null: nobody was told of that. */
  answered(key: string): number | null {
    const one = this.#known.get(key);
    if (!one) return null;
    this.#known.delete(key);
    return one.isTold ? one.since : null;
  }
}

/** Of this isolate. Bound: MOST_KNOWN. */
export const silences = new SilentUpstreams();
