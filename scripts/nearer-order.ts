// An order that is given, in which each text in turn is moved to where it shares most with what stands around it:
// alike-order.ts takes one after the other, and never again one that it took. Nothing is drawn: the same order gives the same one.

import { gzipSync } from "node:zlib";
import { SharedSequences, STRETCH } from "./shared-sequences.ts";

interface Ordered<T> {
  readonly text: string;
  /** Those that must stand before it. */
  readonly after: ReadonlySet<T>;
}

/** How often each text is moved. More bring little, and take as long each. */
const ROUNDS = 5;
/** In how many stretches it is tried, and at how many places in each. */
const TRIED = { stretches: 5, places: 12 };

/** `ones` stand in an order in which they may. */
export function nearerOrder<T extends Ordered<T>>(ones: readonly T[]): T[] {
  const row = new Row(ones);
  const bySize = [...ones.entries()].toSorted(([, a], [, b]) => b.text.length - a.text.length);
  let [best, least] = [[...ones], sizeOf(ones)];
  for (let round = 0; round < ROUNDS; round += 1) {
    const moved = bySize.filter(([text]) => row.settle(text));
    if (moved.length === 0) break;
    const order = row.order.flatMap((text) => ones[text] ?? []);
    const size = sizeOf(order);
    if (size < least) [best, least] = [order, size];
  }
  return best;
}

function sizeOf(ones: readonly { text: string }[]): number {
  return gzipSync(ones.map(({ text }) => text).join("\n")).length;
}

/** Texts by number, and where each of them stands. */
class Row {
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

  /** Takes a text out and puts it where it shares most, which may be where it was; says whether it is another place. */
  settle(text: number): boolean {
    const was = this.order.indexOf(text);
    this.order.splice(was, 1);
    this.#place();
    let to = was;
    let most = this.#sequences.sharedAt(text, this.#startAt(was));
    for (const place of this.#promising(text)) {
      const shared = this.#sequences.sharedAt(text, this.#startAt(place));
      if (shared > most) [to, most] = [place, shared];
    }
    this.order.splice(to, 0, text);
    this.#place();
    if (to !== was) this.#sequences.moved(text);
    return to !== was;
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
