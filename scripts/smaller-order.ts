// An order that is given, in which texts are moved as long as gzip makes all of it smaller. What texts share is an estimate, by which
// nearer-order.ts moves them; here each move is measured, so the texts have to be those that are uploaded.

import { gzipSync } from "node:zlib";
import { PlacedTexts, type Ordered } from "./placed-texts.ts";

/** Of the largest texts, which are tried once more when all were: more bring less, and each takes as long. */
const AGAIN = 900;
/** gzip looks back so far, in characters: further away, a move changes nothing. */
const REACH = 32_768;

type Span = readonly [from: number, until: number];

/** `ones` stand in an order in which they may. Each, the largest first, is measured at one other place at a time. */
export function smallerOrder<T extends Ordered<T>>(ones: readonly T[]): T[] {
  const row = new PlacedTexts(ones);
  const textOf = (one: number): string => ones[one]?.text ?? "";
  const bySize = [...ones.entries()].toSorted(([, a], [, b]) => b.text.length - a.text.length);
  for (const [moved] of [...bySize, ...bySize.slice(0, AGAIN)]) {
    const was = row.order.indexOf(moved);
    const undo = row.shift(moved);
    if (!undo) continue;
    const to = row.order.indexOf(moved);
    const others = row.order.filter((one) => one !== moved).map(textOf);
    const spans = together(spanAround(others, was), spanAround(others, to));
    const sizeAt = (place: number): number => sizeOf(others.toSpliced(place, 0, textOf(moved)), spans, place);
    if (sizeAt(to) >= sizeAt(was)) undo();
  }
  const order = row.order.flatMap((one) => ones[one] ?? []);
  return sizeOfAll(order) < sizeOfAll(ones) ? order : [...ones];
}

/** From one text to before another one, as far as a text at this place may be seen by gzip, or sees. */
function spanAround(texts: readonly string[], place: number): Span {
  let [from, until, before, behind] = [place, place, 0, 0];
  while (from > 0 && before < REACH) before += texts[(from -= 1)]?.length ?? 0;
  while (until < texts.length && behind < REACH) behind += texts[until++]?.length ?? 0;
  return [from, until];
}

/** One span in the place of two that overlap. */
function together(a: Span, b: Span): readonly Span[] {
  const [first, last] = a[0] <= b[0] ? [a, b] : [b, a];
  return first[1] < last[0] ? [first, last] : [[first[0], Math.max(first[1], last[1])]];
}

/** Of these spans, in each of which a text that was put in at `place` may stand. */
function sizeOf(texts: readonly string[], spans: readonly Span[], place: number): number {
  let size = 0;
  for (const [from, until] of spans) {
    const shifted = place < from ? 1 : 0;
    const grown = place <= until ? 1 : 0;
    size += gzipSync(texts.slice(from + shifted, until + grown).join(";")).length;
  }
  return size;
}

function sizeOfAll(ones: readonly Ordered<unknown>[]): number {
  return gzipSync(ones.map(({ text }) => text).join(";")).length;
}
