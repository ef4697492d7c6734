// Counts the upstream responses that are held in memory against the isolate's memory budget. A tenant whose upstreams
// answer at length, or stall halfway, cannot take memory from others. Responses that do not fit are refused.

import { AppError } from "../../protocol/app-error.ts";
import {
  MEMORY_BUDGET,
  MEMORY_RETRY_AFTER_S,
  SMALL_BYTES,
  type MemoryReservation,
} from "../../tenants/cache/memory-budget.ts";

/** For the responses of one call, read one after another. */
export class ResponseBudget {
  readonly #tenant: string;
  #reservation: MemoryReservation | undefined;
  #isReleased = false;

  constructor(tenant: string) {
    this.#tenant = tenant;
  }

  /** Bytes held for an open question while more is read. */
  #retainedBytes = 0;
  #pendingBytes = 0;

  /**
   * Throws an AppError if there is no room. Small responses are not counted, nor is data that arrives after `release`.
   */
  readonly reserve = (bytes: number): void => {
    this.#pendingBytes = bytes > SMALL_BYTES ? bytes : 0;
    this.#update();
  };

  /**
   * Counts bytes in addition to the current response until the returned function is called. Throws as `reserve` does.
   */
  retain(bytes: number): () => void {
    const free = () => {
      this.#retainedBytes -= bytes;
    };
    this.#retainedBytes += bytes;
    try {
      this.#update();
    } catch (error) {
      free();
      throw error;
    }
    return () => {
      free();
      this.#update();
    };
  }

  #update(): void {
    const all = this.#pendingBytes + this.#retainedBytes;
    const counted = all > SMALL_BYTES ? all : 0;
    if (this.#isReleased || counted === (this.#reservation?.bytes ?? 0)) return;
    this.#reservation ??= MEMORY_BUDGET.createReservation(`tenant ${this.#tenant}`);
    if (this.#reservation.resize(counted)) return;
    throw new AppError("busy", { retryAfter: MEMORY_RETRY_AFTER_S });
  }

  release(): void {
    this.#isReleased = true;
    this.#reservation?.release();
  }
}
