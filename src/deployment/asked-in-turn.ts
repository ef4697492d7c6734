// Owns how often one isolate asks the author's function about one tenant at a time: who finds an ask under way looks for its
// answer on timers of its own, for a moment. Refuses to have a request await what another one began: that may never end.

import { lasts } from "../tenants/isolate/lasting.ts";
import { inTime } from "../tenants/isolate/in-time.ts";

/** A function that takes longer is one that cannot be reached. */
const WITHIN_MS = 10_000;
/** How long others wait for whoever asked last. */
const PATIENCE_MS = 250;
const LOOK_AFTER_MS = 25;
/** As many asks are under way at most, and begin at most while somebody waits. */
const MOST = 3;

export interface Turn<T> {
  /** How far an answer has to reach; what is asked for from now on reaches as far. */
  readonly need: number;
  /** How much further it may reach: beyond that the clock was set back since. */
  readonly aheadMs: number;
  readonly ask: (until: number) => Promise<T>;
}

/** The asks about one tenant. */
export class AskedInTurn<T> {
  /** When those under way began, the earliest first. The platform may drop one without a word. */
  #begun: readonly { readonly at: number }[] = [];
  #count = 0;
  /** How far what is asked for now reaches: as all need who came so far. */
  #reach = -Infinity;
  #answer: { readonly told: T; readonly until: number } | undefined;

  get isUnderWay(): boolean {
    return this.#young().length > 0;
  }

  /** Rejects as `ask` does, and when there is no answer in time. */
  async ask(turn: Turn<T>): Promise<T> {
    const since = Date.now();
    const most = this.#count + MOST - this.#young().length;
    if (!fits(this.#reach, turn)) this.#reach = turn.need;
    for (;;) {
      const now = Date.now();
      const young = this.#young();
      const last = young.at(-1);
      const isFree = !last || (young.length < MOST && now - last.at >= PATIENCE_MS);
      const left = since + WITHIN_MS - now;
      if (isFree && this.#count < most && left > 0) return this.#begin(turn, left);
      if (!last || left <= 0) throw new Error("it was asked three times, and said nothing");
      await scheduler.wait(LOOK_AFTER_MS);
      if (this.#answer && fits(this.#answer.until, turn)) return this.#answer.told;
    }
  }

  async #begin({ ask }: Turn<T>, within: number): Promise<T> {
    const mine = { at: Date.now() };
    const until = this.#reach;
    this.#begun = [...this.#young(), mine];
    this.#count += 1;
    try {
      const told = await inTime(ask(until), within);
      if (!this.#answer || this.#answer.until <= until) this.#answer = { told, until };
      return told;
    } finally {
      this.#begun = this.#begun.filter((one) => one !== mine);
    }
  }

  #young(): readonly { readonly at: number }[] {
    const now = Date.now();
    return this.#begun.filter(({ at }) => lasts(at + WITHIN_MS, WITHIN_MS, now));
  }
}

function fits(until: number, { need, aheadMs }: Turn<unknown>): boolean {
  return until >= need && until - need <= aheadMs + WITHIN_MS;
}
