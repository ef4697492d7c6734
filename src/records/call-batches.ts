// Owns how what an isolate noted of its calls reaches the tenant's authority: many calls in one batch, each batch under a
// number of its own, sent again until it is acknowledged. Refuses a call of the object for each call of a tool, and to fill the
// isolate with what an object that is away does not take.

import { RecentMap } from "../limits/recent-map.ts";
import type { SeenHost } from "../deployment/deployment.ts";
import { LEVELS } from "../telemetry/levels.ts";
import { isGone, type TenantStub } from "../tenants/authority/incarnation.ts";
import { lasts } from "../tenants/isolate/lasting.ts";

/** Which batch it is: its maker, which is one isolate's memory of one tenant, and its place among that one's. */
export interface BatchNumber {
  readonly maker: string;
  readonly sequence: number;
}

export interface BatchesHow<Batch> {
  readonly make: () => Batch;
  /** May be called again with the same: whoever takes it takes it once. */
  readonly send: (stub: TenantStub, number: BatchNumber, batch: Batch) => Promise<unknown>;
  /** How long a batch is open for more. */
  readonly afterMs: number;
}

interface Kept<Batch> {
  readonly maker: string;
  sequence: number;
  open: Batch | undefined;
  /** How full it is: from 1 on it is sent at once. */
  full: number;
  /** How many calls are in it. */
  noted: number;
  /** How many calls it had no place for. */
  left: number;
  /** Of the last batch that was acknowledged. */
  known: number;
  /** Sent, and not acknowledged; `at`: when it was sent last. */
  unsure: { readonly number: BatchNumber; readonly batch: Batch; readonly noted: number; at: number } | undefined;
  /** Somebody sends it, unless their invocation was ended meanwhile (milliseconds since the epoch). */
  sentBy: number;
  /** The same for somebody who sends what is full. */
  hurriedBy: number;
}

const MOST_TENANTS = 5_000;
/** After its answer an invocation lasts half a minute. */
const LASTS_MS = 30_000;
const RETRY_MS = 2_000;
const TRIES = 3;
/** What is as full as this takes nothing more. */
const MOST_FULL = 8;
/** How long others wait for who sends, on timers of their own, before one of them sends the same. */
const PATIENCE_MS = 250;
const LOOK_AFTER_MS = 25;

export type HandingHost = Pick<SeenHost, "tenant" | "meant" | "stub" | "waitUntil"> & {
  onError(error: unknown): void;
};

export class CallBatches<Batch> {
  readonly #kept = new RecentMap<Kept<Batch>>(MOST_TENANTS);
  readonly #how: BatchesHow<Batch>;

  constructor(how: BatchesHow<Batch>) {
    this.#how = how;
  }

  /** `note` writes into the open batch, and says how full that is then: at 1 it is sent without waiting for more. */
  note(host: HandingHost, note: (batch: Batch) => number): void {
    const kept = this.#of(host);
    if (kept.full < MOST_FULL) {
      kept.full = note((kept.open ??= this.#how.make()));
      kept.noted += 1;
      LEVELS.backlog += 1;
    } else kept.left += 1;
    const now = Date.now();
    const isFull = kept.full >= 1;
    // While an object is away, each call would try it again.
    if (lasts(isFull ? kept.hurriedBy : kept.sentBy, LASTS_MS, now)) return;
    kept.sentBy = now + LASTS_MS;
    if (isFull) kept.hurriedBy = kept.sentBy;
    host.waitUntil(this.#later(kept, host, isFull ? 0 : this.#how.afterMs));
  }

  /** Resolves when what was noted until now is acknowledged, whoever sent it. Rejects where it could not be sent. */
  flush(host: HandingHost): Promise<void> {
    return this.#flush(this.#of(host), host);
  }

  async #flush(kept: Kept<Batch>, host: HandingHost): Promise<void> {
    // What comes in meanwhile is the next one's: under load this would not end.
    const last = kept.sequence + (kept.open === undefined ? 0 : 1);
    while (kept.known < last) {
      const { unsure } = kept;
      if (unsure && lasts(unsure.at + PATIENCE_MS, PATIENCE_MS, Date.now())) await scheduler.wait(LOOK_AFTER_MS);
      else if (!(await this.#send(kept, host))) return;
    }
  }

  #of({ tenant, meant }: HandingHost): Kept<Batch> {
    const key = `${tenant} ${meant.incarnation}`;
    let kept = this.#kept.get(key);
    if (!kept) {
      const maker = crypto.randomUUID();
      kept = {
        maker,
        sequence: 0,
        open: undefined,
        full: 0,
        noted: 0,
        left: 0,
        known: 0,
        unsure: undefined,
        sentBy: 0,
        hurriedBy: 0,
      };
      this.#kept.set(key, kept);
    }
    return kept;
  }

  async #later(kept: Kept<Batch>, host: HandingHost, afterMs: number): Promise<void> {
    if (afterMs > 0) await scheduler.wait(afterMs);
    // What is noted from here on waits for the next batch, and for somebody who sends it.
    kept.sentBy = 0;
    try {
      await this.#persist(kept, host);
    } catch (error) {
      if (!isGone(error)) host.onError(error);
      // Of a tenant of which this isolate has forgotten that it has this, nobody tries again.
      if (isGone(error) || this.#of(host) !== kept) drop(kept);
    }
    if (afterMs === 0) kept.hurriedBy = 0;
  }

  async #persist(kept: Kept<Batch>, host: HandingHost): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#flush(kept, host);
      } catch (error) {
        if (isGone(error) || tries === TRIES) throw error;
        await scheduler.wait(RETRY_MS * Math.random());
      }
    }
  }

  /** false: there is nothing to send. */
  async #send(kept: Kept<Batch>, host: HandingHost): Promise<boolean> {
    if (!kept.unsure && kept.open !== undefined) {
      kept.sequence += 1;
      kept.unsure = {
        number: { maker: kept.maker, sequence: kept.sequence },
        batch: kept.open,
        noted: kept.noted,
        at: 0,
      };
      kept.open = undefined;
      kept.noted = 0;
      kept.full = 0;
    }
    const { unsure, left } = kept;
    if (!unsure) return false;
    unsure.at = Date.now();
    await this.#how.send(host.stub(), unsure.number, unsure.batch);
    kept.known = Math.max(kept.known, unsure.number.sequence);
    if (kept.unsure === unsure) {
      kept.unsure = undefined;
      LEVELS.backlog -= unsure.noted;
    }
    if (left > 0 && kept.left > 0) {
      host.onError(new Error(`${kept.left} calls were not noted while the tenant's object was away`));
      kept.left = 0;
    }
    return true;
  }
}

function drop(kept: Kept<unknown>): void {
  LEVELS.backlog -= kept.noted + (kept.unsure?.noted ?? 0);
  kept.noted = 0;
  kept.unsure = kept.open = undefined;
}
