// Owns how what an isolate noted of its calls reaches the tenant's authority: many calls in one batch, each batch under a
// number of its own, sent again until it is acknowledged. Refuses a call of the object for each call of a tool, and to fill the
// isolate with what an object that is away does not take.

import { LruMap } from "../limits/lru-map.ts";
import type { ViewScope } from "../deployment/deployment.ts";
import { GAUGES } from "../telemetry/gauges.ts";
import { isUnknownTenant, type TenantStub } from "../tenants/object/tenant-uid.ts";
import { isUnexpired } from "../tenants/cache/is-unexpired.ts";

/** Which batch it is: its maker, which is one isolate's memory of one tenant, and its place among that one's. */
export interface BatchId {
  readonly maker: string;
  readonly sequence: number;
}

export interface CallBatchOptions<Batch> {
  readonly createBatch: () => Batch;
  /** May be called again with the same: whoever takes it takes it once. */
  readonly send: (stub: TenantStub, batchId: BatchId, batch: Batch) => Promise<unknown>;
  /** How long a batch is open for more. */
  readonly afterMs: number;
}

interface BatchBuffer<Batch> {
  readonly maker: string;
  sequence: number;
  open: Batch | undefined;
  /** How full it is: from 1 on it is sent at once. */
  fullness: number;
  /** How many calls are in it. */
  openCount: number;
  /** How many calls it had no place for. */
  droppedCount: number;
  /** Of the last batch that was acknowledged. */
  acknowledged: number;
  /** Sent, and not acknowledged; `at`: when it was sent last. */
  inFlight: { readonly number: BatchId; readonly batch: Batch; readonly noted: number; at: number } | undefined;
  /** Somebody sends it, unless their invocation was ended meanwhile (milliseconds since the epoch). */
  sendingUntil: number;
  /** The same for somebody who sends what is full. */
  flushingUntil: number;
}

const MAX_TENANTS = 5_000;
/** After its answer an invocation lasts half a minute. */
const INVOCATION_MS = 30_000;
const RETRY_MS = 2_000;
const MAX_TRIES = 3;
/** What is as full as this takes nothing more. */
const MAX_FULLNESS = 8;
/** How long others wait for who sends, on timers of their own, before one of them sends the same. */
const PATIENCE_MS = 250;
const POLL_MS = 25;

export type BatchHost = Pick<ViewScope, "tenant" | "tenantRef" | "stub" | "waitUntil"> & {
  onError(error: unknown): void;
};

export class CallBatches<Batch> {
  readonly #buffers = new LruMap<BatchBuffer<Batch>>(MAX_TENANTS);
  readonly #options: CallBatchOptions<Batch>;

  constructor(options: CallBatchOptions<Batch>) {
    this.#options = options;
  }

  /** `note` writes into the open batch, and says how full that is then: at 1 it is sent without waiting for more. */
  add(host: BatchHost, write: (batch: Batch) => number): void {
    const buffer = this.#bufferOf(host);
    if (buffer.fullness < MAX_FULLNESS) {
      buffer.fullness = write((buffer.open ??= this.#options.createBatch()));
      buffer.openCount += 1;
      GAUGES.backlog += 1;
    } else buffer.droppedCount += 1;
    const now = Date.now();
    const isFull = buffer.fullness >= 1;
    // While an object is away, each call would try it again.
    if (isUnexpired(isFull ? buffer.flushingUntil : buffer.sendingUntil, INVOCATION_MS, now)) return;
    buffer.sendingUntil = now + INVOCATION_MS;
    if (isFull) buffer.flushingUntil = buffer.sendingUntil;
    host.waitUntil(this.#sendLater(buffer, host, isFull ? 0 : this.#options.afterMs));
  }

  /** Resolves when what was noted until now is acknowledged, whoever sent it. Rejects where it could not be sent. */
  flush(host: BatchHost): Promise<void> {
    return this.#flush(this.#bufferOf(host), host);
  }

  async #flush(buffer: BatchBuffer<Batch>, host: BatchHost): Promise<void> {
    // What comes in meanwhile is the next one's: under load this would not end.
    const last = buffer.sequence + (buffer.open === undefined ? 0 : 1);
    while (buffer.acknowledged < last) {
      const { inFlight } = buffer;
      if (inFlight && isUnexpired(inFlight.at + PATIENCE_MS, PATIENCE_MS, Date.now())) await scheduler.wait(POLL_MS);
      else if (!(await this.#send(buffer, host))) return;
    }
  }

  #bufferOf({ tenant, tenantRef: meant }: BatchHost): BatchBuffer<Batch> {
    const key = `${tenant} ${meant.uid}`;
    let buffer = this.#buffers.get(key);
    if (!buffer) {
      const maker = crypto.randomUUID();
      buffer = {
        maker,
        sequence: 0,
        open: undefined,
        fullness: 0,
        openCount: 0,
        droppedCount: 0,
        acknowledged: 0,
        inFlight: undefined,
        sendingUntil: 0,
        flushingUntil: 0,
      };
      this.#buffers.set(key, buffer);
    }
    return buffer;
  }

  async #sendLater(buffer: BatchBuffer<Batch>, host: BatchHost, afterMs: number): Promise<void> {
    if (afterMs > 0) await scheduler.wait(afterMs);
    // What is noted from here on waits for the next batch, and for somebody who sends it.
    buffer.sendingUntil = 0;
    try {
      await this.#flushWithRetries(buffer, host);
    } catch (error) {
      if (!isUnknownTenant(error)) host.onError(error);
      // Of a tenant of which this isolate has forgotten that it has this, nobody tries again.
      if (isUnknownTenant(error) || this.#bufferOf(host) !== buffer) dropBatches(buffer);
    }
    if (afterMs === 0) buffer.flushingUntil = 0;
  }

  async #flushWithRetries(buffer: BatchBuffer<Batch>, host: BatchHost): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#flush(buffer, host);
      } catch (error) {
        if (isUnknownTenant(error) || tries === MAX_TRIES) throw error;
        await scheduler.wait(RETRY_MS * Math.random());
      }
    }
  }

  /** false: there is nothing to send. */
  async #send(buffer: BatchBuffer<Batch>, host: BatchHost): Promise<boolean> {
    if (!buffer.inFlight && buffer.open !== undefined) {
      buffer.sequence += 1;
      buffer.inFlight = {
        number: { maker: buffer.maker, sequence: buffer.sequence },
        batch: buffer.open,
        noted: buffer.openCount,
        at: 0,
      };
      buffer.open = undefined;
      buffer.openCount = 0;
      buffer.fullness = 0;
    }
    const { inFlight, droppedCount } = buffer;
    if (!inFlight) return false;
    inFlight.at = Date.now();
    await this.#options.send(host.stub(), inFlight.number, inFlight.batch);
    buffer.acknowledged = Math.max(buffer.acknowledged, inFlight.number.sequence);
    if (buffer.inFlight === inFlight) {
      buffer.inFlight = undefined;
      GAUGES.backlog -= inFlight.noted;
    }
    if (droppedCount > 0 && buffer.droppedCount > 0) {
      host.onError(new Error(`${buffer.droppedCount} calls were not noted while the tenant's object was away`));
      buffer.droppedCount = 0;
    }
    return true;
  }
}

function dropBatches(buffer: BatchBuffer<unknown>): void {
  GAUGES.backlog -= buffer.openCount + (buffer.inFlight?.noted ?? 0);
  buffer.openCount = 0;
  buffer.inFlight = buffer.open = undefined;
}
