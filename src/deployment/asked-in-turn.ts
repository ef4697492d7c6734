// Owns how far the answers of the author's function about one tenant reach, where several ask in turn: one that is asked for
// serves all who waited when it was.

import { inTime } from "../tenants/isolate/in-time.ts";
import { InTurn, WITHIN_MS } from "../tenants/isolate/in-turn.ts";

export interface Turn<T> {
  /** How far an answer has to reach; what is asked for from now on reaches as far. */
  readonly need: number;
  /** How much further it may reach: beyond that the clock was set back since. */
  readonly aheadMs: number;
  readonly ask: (until: number) => Promise<T>;
}

interface Answer<T> {
  readonly told: T;
  readonly until: number;
}

/** The asks about one tenant. */
export class AskedInTurn<T> {
  readonly #turns = new InTurn();
  /** How far what is asked for now reaches: as all need who came so far. */
  #reach = -Infinity;
  #answer: Answer<T> | undefined;

  get isUnderWay(): boolean {
    return this.#turns.isUnderWay;
  }

  /** Rejects as `ask` does, and when there is no answer in time. */
  async ask(turn: Turn<T>): Promise<T> {
    if (!fits(this.#reach, turn)) this.#reach = turn.need;
    const answer = await this.#turns.ask<Answer<T>>({
      look: () => (this.#answer && fits(this.#answer.until, turn) ? this.#answer : undefined),
      ask: async (within) => {
        const until = this.#reach;
        const brought = { told: await inTime(turn.ask(until), within), until };
        if (!this.#answer || this.#answer.until <= until) this.#answer = brought;
        return brought;
      },
    });
    return (answer as Answer<T>).told;
  }
}

function fits(until: number, { need, aheadMs }: Turn<unknown>): boolean {
  return until >= need && until - need <= aheadMs + WITHIN_MS;
}
