// Owns what goes back to a 2025 server while it works on a request: answers to what it asks, pongs, refusals. All of
// them share one place in which so many can be under way, and one budget that repetitions come out of too.
// Refuses to let one request of ours become thousands, whatever the server asks and however it takes the answers.

import { Budget } from "./budget.ts";
import type { Clock } from "./clock.ts";

/** Sends a text to the server; `mayRepeat` is asked before it is sent again. */
export type TellServer = (text: string, mayRepeat: () => boolean) => Promise<void>;

/** How many texts may be under way at once. */
const MAX_AT_ONCE = 32;
/** How many requests of ours one piece of work may take, and how many more a long one. A ping a second is usual. */
const REQUESTS = { most: 500, perSecond: 2 };

export class ServerMail {
  readonly #tell: TellServer;
  readonly #budget: Budget;
  #underWay = 0;
  /** Answers that wait for a place. There are no more of them than questions may be open. */
  readonly #waiting: (() => void)[] = [];

  constructor(tell: TellServer, clock: Clock) {
    this.#tell = tell;
    this.#budget = new Budget(clock, REQUESTS);
  }

  /** Puts one request aside for an answer that is to come; false where there is none left. */
  reserve(): boolean {
    return this.#budget.take();
  }

  /**
   * An answer with a reserved request: it waits until there is a place, and is sent again if it may not have arrived.
   * It is not sent if nobody wants it any more when its turn comes.
   */
  async answer(text: string, isWanted: () => boolean): Promise<void> {
    if (this.#underWay < MAX_AT_ONCE) this.#underWay += 1;
    // Whoever leaves hands their place on, so it is counted already.
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    await this.#send(async () => {
      if (isWanted()) await this.#tell(text, () => isWanted() && this.#budget.take());
    });
  }

  /** What the server can do without: sent once, or not at all where there is no place or nothing left. */
  async mention(text: string): Promise<void> {
    if (this.#underWay >= MAX_AT_ONCE || !this.#budget.take()) return;
    this.#underWay += 1;
    await this.#send(async () => this.#tell(text, () => false));
  }

  async #send(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#underWay -= 1;
    }
  }
}
