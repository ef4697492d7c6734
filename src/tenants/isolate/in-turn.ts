// Owns how often one isolate asks for the same thing at a time: who finds an ask under way looks for what it brought on timers
// of its own, for a moment, and then asks, too. Refuses to have a request await what another one began: that may never end.

import { lasts } from "./lasting.ts";

/** Whoever is asked and takes longer is one that cannot be reached. */
export const WITHIN_MS = 10_000;
/** What comes in place of an answer, where there was none in time, is waited for as well. */
const GRACE_MS = 500;
/** How long others wait for whoever asked last. */
const PATIENCE_MS = 250;
const LOOK_AFTER_MS = 25;
/** As many asks are under way at most, and begin at most while somebody waits, as long as they fail. */
const MOST = 3;

export interface InTurnAsk<T> {
  /** What others brought, where that will do. `isNew`: it was asked for since this one came, so that it will do as its own would. */
  readonly look: (isNew: boolean) => T | undefined;
  /** `within`: how long there is for it, milliseconds. Resolves with undefined where there is none, for all who wait. */
  readonly ask: (within: number) => Promise<T | undefined>;
}

/** The asks for one thing. */
export class InTurn {
  /** When those under way began, the earliest first. The platform may drop one without a word. */
  #begun: readonly { readonly at: number }[] = [];
  #count = 0;
  /** How often it was answered that there is none. */
  #nones = 0;
  /** When that began which brought something last. */
  #broughtAt = 0;
  /** How the last one failed; undefined: it did not. */
  #why: { readonly error: unknown } | undefined;

  get isUnderWay(): boolean {
    return this.#young().length > 0;
  }

  /** Rejects as `ask` does, also that of another; and when there is no answer in time. */
  ask<T>(turn: InTurnAsk<T>): Promise<T | undefined> {
    // Most often nobody asks, and then this one does at once.
    return this.#begun.length === 0 ? this.#begin(turn, WITHIN_MS) : this.#askAfterOthers(turn);
  }

  async #askAfterOthers<T>(turn: InTurnAsk<T>): Promise<T | undefined> {
    const since = Date.now();
    const most = this.#count + MOST - this.#young().length;
    const nones = this.#nones;
    for (;;) {
      const left = since + WITHIN_MS - Date.now();
      if (this.#isFree(most) && left > 0) return this.#begin(turn, left);
      if (!this.isUnderWay || left <= -GRACE_MS)
        throw this.#why?.error ?? new Error("it was asked three times, and said nothing");
      await scheduler.wait(LOOK_AFTER_MS);
      const found = turn.look(this.#broughtAt > since);
      if (found !== undefined) return found;
      if (this.#nones > nones) return undefined;
    }
  }

  #isFree(most: number): boolean {
    const young = this.#young();
    const last = young.at(-1);
    // Where all were answered, and none of that will do, each has to ask.
    if (!last) return this.#count < most || !this.#why;
    return this.#count < most && young.length < MOST && Date.now() - last.at >= PATIENCE_MS;
  }

  async #begin<T>({ ask }: InTurnAsk<T>, within: number): Promise<T | undefined> {
    const mine = { at: Date.now() };
    this.#begun = [...this.#young(), mine];
    this.#count += 1;
    try {
      const told = await ask(within);
      this.#why = undefined;
      if (told === undefined) this.#nones += 1;
      else this.#broughtAt = Math.max(this.#broughtAt, mine.at);
      return told;
    } catch (error) {
      this.#why = { error };
      throw error;
    } finally {
      this.#begun = this.#begun.filter((one) => one !== mine);
    }
  }

  #young(): readonly { readonly at: number }[] {
    if (this.#begun.length === 0) return this.#begun;
    const now = Date.now();
    return this.#begun.filter(({ at }) => lasts(at + WITHIN_MS + GRACE_MS, WITHIN_MS + GRACE_MS, now));
  }
}
