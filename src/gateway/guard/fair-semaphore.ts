// Limits concurrent upstream work in one isolate over all tenants. Waiters with the fewest permits go first.

/** Waiters poll at this interval with their own timers: on this platform one request cannot wake another. */
const POLL_MS = 50;
/** The platform may drop a request without notice. A waiter that has not polled for this long no longer counts. */
const WAITER_TTL_MS = 2_000;

export interface SemaphoreLimits {
  readonly max: number;
  readonly maxPerKey: number;
  /** A permit this old counts as released. */
  readonly staleAfterMs: number;
}

interface Waiter {
  readonly key: string;
  polledAt: number;
}

export class FairSemaphore {
  readonly #limits: SemaphoreLimits;
  /** The oldest first. */
  readonly #permits = new Map<object, { readonly key: string; readonly since: number }>();
  readonly #countByKey = new Map<string, number>();
  /** In order of arrival. */
  readonly #waiters = new Set<Waiter>();

  constructor(limits: SemaphoreLimits) {
    this.#limits = limits;
  }

  get permits(): number {
    return this.#permits.size;
  }

  /**
   * Returns the release function, or undefined if there is no room or others wait. A key gets a permit only if it holds
   * fewer than are free, so a key alone gets at most half of `max`.
   */
  tryAcquire(key: string, now = Date.now()): (() => void) | undefined {
    if (this.#waiters.size > 0 || !this.#hasPermit(key, now)) return undefined;
    return this.#permits.size + this.#countOf(key) < this.#limits.max ? this.#grant(key, now) : undefined;
  }

  /**
   * As `tryAcquire`, but waits for at most `milliseconds`. Waiters with fewer permits go first, then earlier ones with
   * as many.
   */
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

  #hasPriority(otherCount: number, ownCount: number, isBehind: boolean): boolean {
    if (otherCount >= this.#limits.maxPerKey) return false;
    return otherCount < ownCount || (otherCount === ownCount && !isBehind);
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
 * Catalog reads. Each holds some megabytes and its own connections, so they are counted apart from calls. `maxPerKey`
 * fits the connections beside a request. Bound: `max` permits; a waiter lasts at most as long as its invocation.
 */
export const catalogReads = new FairSemaphore({ max: 16, maxPerKey: 4, staleAfterMs: 90_000 });

/**
 * Calls. `limits.concurrentCalls` limits each principal of a tenant before. Bound: `max` permits; nobody waits.
 */
export const upstreamCalls = new FairSemaphore({ max: 1000, maxPerKey: 1000, staleAfterMs: 360_000 });
