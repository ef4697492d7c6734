// Owns what this isolate knows of a tenant's ended sessions: those that its leases carried, and those that it asked
// about. Bounded: what is dropped here is asked of the authority again, once for each session.

import type { EndedSessionsDelta } from "../object/policy-records.ts";

const MAX_ENDED = 5000;
const MAX_ACTIVE = 5000;
/** The clock that says when a session began is not the one that says when another ended. */
const CLOCK_SLACK_MS = 1000;
/** What a nonce costs in memory, with its place in a set. */
const BYTES_EACH = 120;

export class EndedSessions {
  /** When this isolate learnt of each end, in the order in which it did. */
  readonly #ended = new Map<string, number>();
  /** Sessions older than `#since` that have not ended, as the authority said. */
  readonly #active = new Set<string>();
  /** Milliseconds since the epoch; of sessions that ended before, some may be missing here. 0: none is. */
  #since = 0;
  #cursor: number | null = null;

  get cursor(): number | null {
    return this.#cursor;
  }

  get bytes(): number {
    return (this.#ended.size + this.#active.size) * BYTES_EACH;
  }

  merge({ cursor, nonces, since }: EndedSessionsDelta): void {
    this.#cursor = cursor;
    if (since > this.#since) {
      this.#since = since;
      this.#active.clear();
    }
    for (const nonce of nonces) this.add(nonce);
  }

  add(nonce: string): void {
    this.#active.delete(nonce);
    this.#ended.set(nonce, Date.now());
    if (this.#ended.size <= MAX_ENDED) return;
    const [oldest] = this.#ended;
    if (!oldest) return;
    this.#ended.delete(oldest[0]);
    // The session that is dropped ended before this isolate learnt of it, so all that ended later are still known.
    this.#since = Math.max(this.#since, oldest[1]);
  }

  /** undefined: the authority must be asked. `minted`: when the session began, milliseconds since the epoch. */
  hasEnded(nonce: string, createdAt: number): boolean | undefined {
    if (this.#ended.has(nonce)) return true;
    return this.#since === 0 || createdAt > this.#since + CLOCK_SLACK_MS || this.#active.has(nonce) ? false : undefined;
  }

  /** Keeps what the authority said of one session. */
  setEnded(nonce: string, ended: boolean): void {
    if (ended) this.add(nonce);
    else {
      if (this.#active.size >= MAX_ACTIVE) this.#active.clear();
      this.#active.add(nonce);
    }
  }
}
