// Sends an isolate's records of calls to the tenant object in batches. Each batch has its own number and is sent again
// until it is acknowledged. So the object is not called for each tool call. While the object is unreachable, the
// isolate buffers a bounded amount.

import { LruMap } from "../limits/lru-map.ts";
import type { ViewScope } from "../deployment/deployment.ts";
import { GAUGES } from "../telemetry/gauges.ts";
import { isUnknownTenant, type TenantStub } from "../tenants/object/tenant-uid.ts";
import { isUnexpired } from "../tenants/cache/is-unexpired.ts";

/** Identifies a batch. `source`: one isolate's buffer of one tenant. `sequence`: the batch's number in that buffer. */
export interface BatchId {
  readonly source: string;
  readonly sequence: number;
}

export interface CallBatchOptions<Batch> {
  readonly createBatch: () => Batch;
  /** May be called again with the same batch. The receiver counts it once. */
  readonly send: (stub: TenantStub, batchId: BatchId, batch: Batch) => Promise<unknown>;
  /** How long a batch stays open for more calls, in milliseconds. */
  readonly afterMs: number;
}

interface BatchBuffer<Batch> {
  readonly source: string;
  sequence: number;
  open: Batch | undefined;
  /** The fill level. At 1 or more the batch is sent at once. */
  fullness: number;
  /** How many calls are in the open batch. */
  openCount: number;
  /** How many calls were dropped because the batch was full. */
  droppedCount: number;
  /** The number of the last acknowledged batch. */
  acknowledged: number;
  /** Sent and not acknowledged. `at`: when it was last sent. */
  inFlight: { readonly number: BatchId; readonly batch: Batch; readonly noted: number; at: number } | undefined;
  /**
   * Until then an invocation is expected to send the batch, unless the platform ended it; milliseconds since the epoch.
   */
  sendingUntil: number;
  /** The same for an invocation that sends a full batch. */
  flushingUntil: number;
}

const MAX_TENANTS = 5_000;
/** An invocation lives for half a minute after its response. */
const INVOCATION_MS = 30_000;
const RETRY_MS = 2_000;
const MAX_TRIES = 3;
/** A batch at this fill level accepts no more calls. */
const MAX_FULLNESS = 8;
/** How long other invocations wait for the sender, on their own timers, before one of them sends the same batch. */
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

  /** `write` adds to the open batch and returns its fill level. At 1 the batch is sent without waiting for more. */
  add(host: BatchHost, write: (batch: Batch) => number): void {
    const buffer = this.#bufferOf(host);
    if (buffer.fullness < MAX_FULLNESS) {
      buffer.fullness = write((buffer.open ??= this.#options.createBatch()));
      buffer.openCount += 1;
      GAUGES.backlog += 1;
    } else buffer.droppedCount += 1;
    const now = Date.now();
    const isFull = buffer.fullness >= 1;
    // While the object is unreachable, each call would try to send again.
    if (isUnexpired(isFull ? buffer.flushingUntil : buffer.sendingUntil, INVOCATION_MS, now)) return;
    buffer.sendingUntil = now + INVOCATION_MS;
    if (isFull) buffer.flushingUntil = buffer.sendingUntil;
    host.waitUntil(this.#sendLater(buffer, host, isFull ? 0 : this.#options.afterMs));
  }

  /**
   * Resolves when all earlier calls are acknowledged, whichever invocation sent them. Rejects if they could not be
   * sent.
   */
  flush(host: BatchHost): Promise<void> {
    return this.#flush(this.#bufferOf(host), host);
  }

  async #flush(buffer: BatchBuffer<Batch>, host: BatchHost): Promise<void> {
    // Calls that arrive meanwhile belong to the next batch. Otherwise this would not end under load.
    const last = buffer.sequence + (buffer.open === undefined ? 0 : 1);
    while (buffer.acknowledged < last) {
      const { inFlight } = buffer;
      if (inFlight && isUnexpired(inFlight.at + PATIENCE_MS, PATIENCE_MS, Date.now())) await scheduler.wait(POLL_MS);
      else if (!(await this.#send(buffer, host))) return;
    }
  }

  #bufferOf({ tenant, tenantRef }: BatchHost): BatchBuffer<Batch> {
    const key = `${tenant} ${tenantRef.uid}`;
    let buffer = this.#buffers.get(key);
    if (!buffer) {
      const source = crypto.randomUUID();
      buffer = {
        source,
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
    // Calls from here on belong to the next batch, which needs another sender.
    buffer.sendingUntil = 0;
    try {
      await this.#flushWithRetries(buffer, host);
    } catch (error) {
      if (!isUnknownTenant(error)) host.onError(error);
      // If the isolate has dropped this buffer, no later invocation would retry it.
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
        number: { source: buffer.source, sequence: buffer.sequence },
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
      host.onError(new Error(`${buffer.droppedCount} calls were not recorded while the tenant object did not answer`));
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
