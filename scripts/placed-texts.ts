// Texts in an order, each of which can be moved to where it shares most with what stands around it. Nothing is drawn: the same
// texts move the same way.

import { SharedSequences, STRETCH } from "./shared-sequences.ts";

export interface Ordered<T> {
  readonly text: string;
  /** Those that must stand before it. */
  readonly after: ReadonlySet<T>;
}

/** In how many stretches a text is tried, and at how many places in each. */
const TRIED = { stretches: 5, places: 12 };

/** Texts by number, and where each of them stands. */
export class PlacedTexts {
  readonly order: number[];
  readonly #before: readonly ReadonlySet<number>[];
  readonly #behind: readonly ReadonlySet<number>[];
  readonly #lengths: readonly number[];
  /** By text, in characters. */
  readonly #starts: Int32Array;
  readonly #sequences: SharedSequences;
  /** By stretch: about what a text would share there. */
  readonly #profile: Float64Array;

  constructor(ones: readonly Ordered<unknown>[]) {
    const numbers = new Map<unknown, number>(ones.map((one, text) => [one, text]));
    this.order = [...numbers.values()];
    this.#before = ones.map(({ after }) => new Set([...after].map((one) => numbers.get(one) ?? 0)));
    const behind = ones.map(() => new Set<number>());
    for (const [text, before] of this.#before.entries()) for (const one of before) behind[one]?.add(text);
    this.#behind = behind;
    this.#lengths = ones.map(({ text }) => text.length + 1);
    this.#starts = new Int32Array(ones.length);
    this.#sequences = new SharedSequences(
      ones.map(({ text }) => text),
      this.#starts,
    );
    this.#profile = new Float64Array(Math.ceil(this.#place() / STRETCH) + 1);
  }

  /** Puts a text where it shares most, which may be where it is; says whether it is another place. */
  settle(text: number): boolean {
    const was = this.#takeOut(text);
    const to = this.#nearest(text, was, this.#sequences.sharedAt(text, this.#startAt(was))) ?? was;
    this.#put(text, to);
    if (to !== was) this.#sequences.moved(text);
    return to !== was;
  }

  /** Puts a text where it shares most but for where it is, and gives what puts it back; undefined: it may stand nowhere else. */
  shift(text: number): (() => void) | undefined {
    const was = this.#takeOut(text);
    const to = this.#nearest(text, was, -Infinity);
    this.#put(text, to ?? was);
    if (to === undefined) return undefined;
    this.#sequences.moved(text);
    return () => {
      this.#takeOut(text);
      this.#put(text, was);
      this.#sequences.moved(text);
    };
  }

  #takeOut(text: number): number {
    const was = this.order.indexOf(text);
    this.order.splice(was, 1);
    this.#place();
    return was;
  }

  #put(text: number, to: number): void {
    this.order.splice(to, 0, text);
    this.#place();
  }

  /** The place where a text that was taken out shares most, and more than `least`. */
  #nearest(text: number, was: number, least: number): number | undefined {
    let [to, most]: [number | undefined, number] = [undefined, least];
    for (const place of this.#promising(text)) {
      const shared = place === was ? -Infinity : this.#sequences.sharedAt(text, this.#startAt(place));
      if (shared > most) [to, most] = [place, shared];
    }
    return to;
  }

  /** Says how long all of it is. */
  #place(): number {
    let start = 0;
    for (const text of this.order) {
      this.#starts[text] = start;
      start += this.#lengths[text] ?? 0;
    }
    return start;
  }

  /** Of a place in the order. */
  #startAt(place: number): number {
    const next = this.order[place];
    if (next !== undefined) return this.#starts[next] ?? 0;
    const last = this.order.at(-1) ?? 0;
    return (this.#starts[last] ?? 0) + (this.#lengths[last] ?? 0);
  }

  /** Places that a text that is taken out may have, in those stretches in which it would share most. */
  *#promising(text: number): Generator<number> {
    const first = this.order.findLastIndex((one) => this.#before[text]?.has(one)) + 1;
    const follower = this.order.findIndex((one) => this.#behind[text]?.has(one));
    const last = follower < 0 ? this.order.length : follower;
    if (first === last) return;
    this.#sequences.profile(text, this.#profile);
    for (const stretch of this.#best(this.#stretchOf(first), this.#stretchOf(last))) {
      const from = this.#firstFrom(stretch * STRETCH, first, last);
      for (let place = from; place <= last && place < from + TRIED.places; place += 1) {
        if (place > from && this.#stretchOf(place) > stretch) break;
        yield place;
      }
    }
  }

  #stretchOf(place: number): number {
    return Math.floor(this.#startAt(place) / STRETCH);
  }

  #best(from: number, to: number): number[] {
    const best: number[] = [];
    const worth = (stretch: number | undefined): number => this.#profile[stretch ?? -1] ?? -Infinity;
    for (let stretch = from; stretch <= to; stretch += 1) {
      if (best.length === TRIED.stretches && worth(stretch) <= worth(best.at(-1))) continue;
      best.push(stretch);
      best.sort((a, b) => worth(b) - worth(a));
      best.length = Math.min(best.length, TRIED.stretches);
    }
    return best;
  }

  /** The first place that stands at `start` or after it, and may be had. */
  #firstFrom(start: number, first: number, last: number): number {
    let [low, high] = [first, last];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#startAt(middle) < start) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
