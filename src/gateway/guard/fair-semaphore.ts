// Owns how much one isolate does with upstreams at a time, for all of its tenants together. Refuses what is too much, or has
// it wait its turn: who has least under way goes first.

/** Who waits looks again after this. On a timer of its own: nobody can be woken from within another's request. */
const POLL_MS = 50;
/** The platform may drop a request without a word: who has not looked for so long waits no more. */
const WAITER_TTL_MS = 2_000;

export interface SemaphoreLimits {
  readonly max: number;
  readonly maxPerKey: number;
  /** What began so long ago has ended, whether it said so or not. */
  readonly staleAfterMs: number;
}

interface Waiter {
  readonly key: string;
  polledAt: number;
}

export class FairSemaphore {
  readonly #limits: SemaphoreLimits;
  /** What is under way, the oldest first. */
  readonly #permits = new Map<object, { readonly key: string; readonly since: number }>();
  readonly #countByKey = new Map<string, number>();
  /** In the order in which they came. */
  readonly #waiters = new Set<Waiter>();

  constructor(limits: SemaphoreLimits) {
    this.#limits = limits;
  }

  get permits(): number {
    return this.#permits.size;
  }

  /** Gives what is to be run when it is over; undefined: there is no room, or others wait for it. Nobody has more than they leave free. */
  tryAcquire(key: string, now = Date.now()): (() => void) | undefined {
    if (this.#waiters.size > 0 || !this.#hasPermit(key, now)) return undefined;
    return this.#permits.size + this.#countOf(key) < this.#limits.max ? this.#grant(key, now) : undefined;
  }

  /** As `enter`, behind those who wait already and have less under way, for so long at most. */
  async acquireWithin(key: string, milliseconds: number): Promise<(() => void) | undefined> {
    const waiter: Waiter = { key, polledAt: Date.now() };
    const end = waiter.polledAt + milliseconds;
    this.#waiters.add(waiter);
    try {
      for (let now = waiter.polledAt; ; waiter.polledAt = now = Date.now()) {
        if (this.#hasPermit(key, now) && this.#isNext(waiter, now)) return this.#grant(key, now);
        if (now >= end) return undefined;
        await sleep(Math.min(POLL_MS, end - now));
      }
    } finally {
      this.#waiters.delete(waiter);
    }
  }

  #hasPermit(key: string, now: number): boolean {
    const { max, maxPerKey, staleAfterMs } = this.#limits;
    for (const [one, { since }] of this.#permits) {
      if (this.#permits.size < max || Math.abs(now - since) < staleAfterMs) break;
      this.#revoke(one);
    }
    return this.#permits.size < max && this.#countOf(key) < maxPerKey;
  }

  #isNext(waiter: Waiter, now: number): boolean {
    const free = this.#limits.max - this.#permits.size;
    const has = this.#countOf(waiter.key);
    let countBefore = 0;
    let isBehind = false;
    for (const other of this.#waiters) {
      if (other === waiter) isBehind = true;
      else if (Math.abs(now - other.polledAt) > WAITER_TTL_MS) this.#waiters.delete(other);
      else countBefore += this.#hasPriority(this.#countOf(other.key), has, isBehind) ? 1 : 0;
      if (countBefore >= free) return false;
    }
    return true;
  }

  #hasPriority(theirs: number, mine: number, isBehind: boolean): boolean {
    if (theirs >= this.#limits.maxPerKey) return false;
    return theirs < mine || (theirs === mine && !isBehind);
  }

  #countOf(key: string): number {
    return this.#countByKey.get(key) ?? 0;
  }

  #grant(key: string, now: number): () => void {
    const permit = {};
    this.#permits.set(permit, { key, since: now });
    this.#countByKey.set(key, this.#countOf(key) + 1);
    return () => {
      this.#revoke(permit);
    };
  }

  #revoke(permit: object): void {
    const { key } = this.#permits.get(permit) ?? {};
    if (key === undefined) return;
    this.#permits.delete(permit);
    const remaining = this.#countOf(key) - 1;
    if (remaining > 0) this.#countByKey.set(key, remaining);
    else this.#countByKey.delete(key);
  }
}

function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
  });
}

/**
 * Readings of lists: each holds some megabytes, and connections of its own. They are no calls' concern, which are counted
 * by themselves. So many of one tenant are read beside a request.
 * Bound: `most`, and who waits, as long as their invocation does.
 */
export const catalogReads = new FairSemaphore({ max: 16, maxPerKey: 4, staleAfterMs: 90_000 });

/**
 * Calls; what one tenant may have under way is limited elsewhere.
 * Bound: `most`, and who waits, as long as their invocation does.
 */
export const upstreamCalls = new FairSemaphore({ max: 1000, maxPerKey: 1000, staleAfterMs: 360_000 });
