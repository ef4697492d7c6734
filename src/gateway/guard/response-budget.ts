// Owns that what upstreams say is counted while it is held, in the one budget of the isolate: a tenant whose upstreams answer
// at length, or half and then not, takes no memory from others. Refuses what does not fit.

import { AppError } from "../../protocol/app-error.ts";
import {
  MEMORY_BUDGET,
  MEMORY_RETRY_AFTER_S,
  SMALL_BYTES,
  type MemoryReservation,
} from "../../tenants/cache/memory-budget.ts";

/** For what is read of one answer after the other. */
export class ResponseBudget {
  readonly #tenant: string;
  #reservation: MemoryReservation | undefined;
  #isReleased = false;

  constructor(tenant: string) {
    this.#tenant = tenant;
  }

  /** What waits for somebody while more is read. */
  #retainedBytes = 0;
  #pendingBytes = 0;

  /** Throws where there is no room. What is small is not counted, nor what still comes when nobody waits for it. */
  readonly reserve = (bytes: number): void => {
    this.#pendingBytes = bytes > SMALL_BYTES ? bytes : 0;
    this.#update();
  };

  /** Counts so much beside what is being read, until what it gives is called. Throws as `held` does. */
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
