// Owns how much one isolate does with upstreams at a time, for all of its tenants together. Refuses what is too much, or has
// it wait its turn: who has least under way goes first.

/** Who waits looks again after this. On a timer of its own: nobody can be woken from within another's request. */
const LOOK_AFTER_MS = 50;
/** The platform may drop a request without a word: who has not looked for so long waits no more. */
const GONE_AFTER_MS = 2_000;

export interface CrowdSize {
  readonly most: number;
  readonly mostOfOne: number;
  /** What began so long ago has ended, whether it said so or not. */
  readonly forgottenAfterMs: number;
}

interface Waiting {
  readonly of: string;
  lookedAt: number;
}

export class Crowd {
  readonly #size: CrowdSize;
  /** What is under way, the oldest first. */
  readonly #inside = new Map<object, { readonly of: string; readonly since: number }>();
  readonly #byOne = new Map<string, number>();
  /** In the order in which they came. */
  readonly #waiting = new Set<Waiting>();

  constructor(size: CrowdSize) {
    this.#size = size;
  }

  get inside(): number {
    return this.#inside.size;
  }

  /** Gives what is to be run when it is over; undefined: there is no room, or others wait for it. Nobody has more than they leave free. */
  enter(of: string, now = Date.now()): (() => void) | undefined {
    if (this.#waiting.size > 0 || !this.#isRoom(of, now)) return undefined;
    return this.#inside.size + this.#has(of) < this.#size.most ? this.#in(of, now) : undefined;
  }

  /** As `enter`, behind those who wait already and have less under way, for so long at most. */
  async enterWithin(of: string, milliseconds: number): Promise<(() => void) | undefined> {
    const mine: Waiting = { of, lookedAt: Date.now() };
    const end = mine.lookedAt + milliseconds;
    this.#waiting.add(mine);
    try {
      for (let now = mine.lookedAt; ; mine.lookedAt = now = Date.now()) {
        if (this.#isRoom(of, now) && this.#isNext(mine, now)) return this.#in(of, now);
        if (now >= end) return undefined;
        await later(Math.min(LOOK_AFTER_MS, end - now));
      }
    } finally {
      this.#waiting.delete(mine);
    }
  }

  #isRoom(of: string, now: number): boolean {
    const { most, mostOfOne, forgottenAfterMs } = this.#size;
    for (const [one, { since }] of this.#inside) {
      if (this.#inside.size < most || Math.abs(now - since) < forgottenAfterMs) break;
      this.#out(one);
    }
    return this.#inside.size < most && this.#has(of) < mostOfOne;
  }

  #isNext(mine: Waiting, now: number): boolean {
    const free = this.#size.most - this.#inside.size;
    const has = this.#has(mine.of);
    let before = 0;
    let isBehind = false;
    for (const other of this.#waiting) {
      if (other === mine) isBehind = true;
      else if (Math.abs(now - other.lookedAt) > GONE_AFTER_MS) this.#waiting.delete(other);
      else before += this.#goesBefore(this.#has(other.of), has, isBehind) ? 1 : 0;
      if (before >= free) return false;
    }
    return true;
  }

  #goesBefore(theirs: number, mine: number, isBehind: boolean): boolean {
    if (theirs >= this.#size.mostOfOne) return false;
    return theirs < mine || (theirs === mine && !isBehind);
  }

  #has(of: string): number {
    return this.#byOne.get(of) ?? 0;
  }

  #in(of: string, now: number): () => void {
    const one = {};
    this.#inside.set(one, { of, since: now });
    this.#byOne.set(of, this.#has(of) + 1);
    return () => {
      this.#out(one);
    };
  }

  #out(one: object): void {
    const { of } = this.#inside.get(one) ?? {};
    if (of === undefined) return;
    this.#inside.delete(one);
    const left = this.#has(of) - 1;
    if (left > 0) this.#byOne.set(of, left);
    else this.#byOne.delete(of);
  }
}

function later(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
  });
}

/**
 * Readings of lists: each holds some megabytes, and connections of its own. They are no calls' concern, which are counted
 * by themselves. So many of one tenant are read beside a request.
 * Bound: `most`, and who waits, as long as their invocation does.
 */
export const READINGS = new Crowd({ most: 16, mostOfOne: 4, forgottenAfterMs: 90_000 });

/**
 * Calls; what one tenant may have under way is limited elsewhere.
 * Bound: `most`, and who waits, as long as their invocation does.
 */
export const CALLS = new Crowd({ most: 1000, mostOfOne: 1000, forgottenAfterMs: 360_000 });
