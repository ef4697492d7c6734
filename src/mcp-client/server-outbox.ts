// Messages back to a 2025 server during a request: answers, pongs and refusals. All share one concurrency limit and one
// budget, which retries use too. The server cannot turn one request into thousands.

import { TokenBucket } from "./token-bucket.ts";
import type { Clock } from "./clock.ts";

/** Sends a text to the server. `mayRetry` is checked before each retry. */
export type SendToServer = (text: string, mayRepeat: () => boolean) => Promise<void>;

const MAX_IN_FLIGHT = 32;
/** Requests that one piece of work may cause, and how many more per second. One ping per second is usual. */
const REQUEST_BUDGET = { capacity: 500, perSecond: 2 };

export class ServerOutbox {
  readonly #sendToServer: SendToServer;
  readonly #budget: TokenBucket;
  #inFlight = 0;
  /** Answers that wait for a slot. There are at most as many as open questions. */
  readonly #waiting: (() => void)[] = [];

  constructor(sendToServer: SendToServer, clock: Clock) {
    this.#sendToServer = sendToServer;
    this.#budget = new TokenBucket(clock, REQUEST_BUDGET);
  }

  /** Reserves one request for a later answer. Returns false if the budget is used up. */
  reserve(): boolean {
    return this.#budget.take();
  }

  /**
   * Sends an answer with a reserved request: waits for a slot, and retries if it may not have arrived. Not sent if it
   * is no longer wanted when its turn comes.
   */
  async sendAnswer(text: string, isWanted: () => boolean): Promise<void> {
    if (this.#inFlight < MAX_IN_FLIGHT) this.#inFlight += 1;
    // A finished sender passes on its slot, so the slot is already counted.
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    await this.#runInSlot(async () => {
      if (isWanted()) await this.#sendToServer(text, () => isWanted() && this.#budget.take());
    });
  }

  /** A message that the server does not depend on. Sent once, or dropped if there is no slot or budget. */
  async sendOptional(text: string): Promise<void> {
    if (this.#inFlight >= MAX_IN_FLIGHT || !this.#budget.take()) return;
    this.#inFlight += 1;
    await this.#runInSlot(async () => this.#sendToServer(text, () => false));
  }

  async #runInSlot(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#inFlight -= 1;
    }
  }
}
