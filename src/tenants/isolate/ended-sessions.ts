// Owns what this isolate knows of a tenant's ended sessions: those that rode on its leases, and those it was asked about.
// Bounded: what is dropped here is asked of the authority again, once for each session.

import type { EndedSession } from "../authority/policy-records.ts";

const MAX_ENDED = 5000;
const MAX_ALIVE = 5000;
/** When a session began is said by another clock than when one ended. */
const CLOCK_SLACK_MS = 1000;
/** A nonce with its place in a set. */
const BYTES_EACH = 120;

export class EndedSessions {
  readonly #ended = new Map<string, number>();
  /** Sessions from before `#since` that the authority said go on. */
  readonly #alive = new Set<string>();
  #since = 0;
  #cursor: number | null = null;

  get cursor(): number | null {
    return this.#cursor;
  }

  get bytes(): number {
    return (this.#ended.size + this.#alive.size) * BYTES_EACH;
  }

  learn({ cursor, nonces, since }: EndedSession): void {
    this.#cursor = cursor;
    if (since > this.#since) {
      this.#since = since;
      this.#alive.clear();
    }
    for (const nonce of nonces) this.end(nonce);
  }

  end(nonce: string): void {
    this.#alive.delete(nonce);
    this.#ended.set(nonce, Date.now());
    if (this.#ended.size <= MAX_ENDED) return;
    const [oldest] = this.#ended;
    if (!oldest) return;
    this.#ended.delete(oldest[0]);
    // What was learnt later ended later, or was given as part of everything since.
    this.#since = Math.max(this.#since, oldest[1]);
  }

  /** undefined: only the authority knows. `minted`: when the session began, milliseconds since the epoch. */
  hasEnded(nonce: string, minted: number): boolean | undefined {
    if (this.#ended.has(nonce)) return true;
    return this.#since === 0 || minted > this.#since + CLOCK_SLACK_MS || this.#alive.has(nonce) ? false : undefined;
  }

  /** What the authority said of one session. */
  settle(nonce: string, ended: boolean): void {
    if (ended) this.end(nonce);
    else {
      if (this.#alive.size >= MAX_ALIVE) this.#alive.clear();
      this.#alive.add(nonce);
    }
  }
}
