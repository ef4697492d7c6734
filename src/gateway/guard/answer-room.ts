// Owns that what upstreams say is counted while it is held, in the one budget of the isolate: a tenant whose upstreams answer
// at length, or half and then not, takes no memory from others. Refuses what does not fit.

import { AppError } from "../../protocol/app-error.ts";
import { HELD, ROOM_AFTER_S, SMALL_BYTES, type HeldShare } from "../../tenants/isolate/held-bytes.ts";

/** For what is read of one answer after the other. */
export class AnswerRoom {
  readonly #tenant: string;
  #share: HeldShare | undefined;
  #isOver = false;

  constructor(tenant: string) {
    this.#tenant = tenant;
  }

  /** What waits for somebody while more is read. */
  #kept = 0;
  #arrived = 0;

  /** Throws where there is no room. What is small is not counted, nor what still comes when nobody waits for it. */
  readonly held = (bytes: number): void => {
    this.#arrived = bytes > SMALL_BYTES ? bytes : 0;
    this.#count();
  };

  /** Counts so much beside what is being read, until what it gives is called. Throws as `held` does. */
  keep(bytes: number): () => void {
    const give = () => {
      this.#kept -= bytes;
    };
    this.#kept += bytes;
    try {
      this.#count();
    } catch (error) {
      give();
      throw error;
    }
    return () => {
      give();
      this.#count();
    };
  }

  #count(): void {
    const all = this.#arrived + this.#kept;
    const counted = all > SMALL_BYTES ? all : 0;
    if (this.#isOver || counted === (this.#share?.bytes ?? 0)) return;
    this.#share ??= HELD.open(`tenant ${this.#tenant}`);
    if (this.#share.resize(counted)) return;
    throw new AppError("busy", { retryAfter: ROOM_AFTER_S });
  }

  release(): void {
    this.#isOver = true;
    this.#share?.release();
  }
}
