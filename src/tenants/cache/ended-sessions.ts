// The ended sessions that this isolate knows: from leases and from single questions to the tenant object. Bounded: the
// isolate asks the tenant object again about a dropped session, once for each session.

import type { EndedSessionsDelta } from "../object/policy-records.ts";

const MAX_ENDED = 5000;
const MAX_ACTIVE = 5000;
/** The clock that stamps a session's start is not the clock that stamps another session's end. */
const CLOCK_SLACK_MS = 1000;
/** The memory cost of a nonce, with its entry in a set. */
const BYTES_EACH = 120;

export class EndedSessions {
  /** When this isolate learned of each end, in that order. */
  readonly #ended = new Map<string, number>();
  /** Sessions older than `#since` that have not ended, according to the tenant object. */
  readonly #active = new Set<string>();
  /** Milliseconds since the epoch. Sessions that ended before this time may be missing. 0: none is missing. */
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
    // The dropped session ended before this isolate learned of it. So all sessions that ended later are still known.
    this.#since = Math.max(this.#since, oldest[1]);
  }

  /** undefined: ask the tenant object. `createdAt`: when the session began, in milliseconds since the epoch. */
  hasEnded(nonce: string, createdAt: number): boolean | undefined {
    if (this.#ended.has(nonce)) return true;
    return this.#since === 0 || createdAt > this.#since + CLOCK_SLACK_MS || this.#active.has(nonce) ? false : undefined;
  }

  /** Caches the tenant object's answer about one session. */
  setEnded(nonce: string, ended: boolean): void {
    if (ended) this.add(nonce);
    else {
      if (this.#active.size >= MAX_ACTIVE) this.#active.clear();
      this.#active.add(nonce);
    }
  }
}
