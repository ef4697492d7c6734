// Owns what goes back to a 2025 server while it works on a request: answers to what it asks, pongs, refusals. All of
// them share one place in which so many can be under way, and one budget that repetitions come out of too.
// Refuses to let one request of ours become thousands, whatever the server asks and however it takes the answers.

import { TokenBucket } from "./token-bucket.ts";
import type { Clock } from "./clock.ts";

/** Sends a text to the server; `mayRepeat` is asked before it is sent again. */
export type SendToServer = (text: string, mayRepeat: () => boolean) => Promise<void>;

/** How many texts may be under way at once. */
const MAX_IN_FLIGHT = 32;
/** How many requests of ours one piece of work may take, and how many more a long one. A ping a second is usual. */
const REQUEST_BUDGET = { capacity: 500, perSecond: 2 };

export class ServerOutbox {
  readonly #sendToServer: SendToServer;
  readonly #budget: TokenBucket;
  #inFlight = 0;
  /** Answers that wait for a place. There are no more of them than questions may be open. */
  readonly #waiting: (() => void)[] = [];

  constructor(sendToServer: SendToServer, clock: Clock) {
    this.#sendToServer = sendToServer;
    this.#budget = new TokenBucket(clock, REQUEST_BUDGET);
  }

  /** Puts one request aside for an answer that is to come; false where there is none left. */
  reserve(): boolean {
    return this.#budget.take();
  }

  /**
   * An answer with a reserved request: it waits until there is a place, and is sent again if it may not have arrived.
   * It is not sent if nobody wants it any more when its turn comes.
   */
  async sendAnswer(text: string, isWanted: () => boolean): Promise<void> {
    if (this.#inFlight < MAX_IN_FLIGHT) this.#inFlight += 1;
    // Whoever leaves hands their place on, so it is counted already.
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    await this.#runInSlot(async () => {
      if (isWanted()) await this.#sendToServer(text, () => isWanted() && this.#budget.take());
    });
  }

  /** What the server can do without: sent once, or not at all where there is no place or nothing left. */
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
