// An order that is given, in which texts are moved as long as gzip makes all of it smaller. What texts share is an estimate, by which
// nearer-order.ts moves them; here each move is measured, so the texts have to be those that are uploaded.

import { gzipSync } from "node:zlib";
import { PlacedTexts, type Ordered } from "./placed-texts.ts";

/** Of the largest texts, each of which is measured at one other place: more bring less, and each takes as long. */
const MEASURED = 900;

/** `ones` stand in an order in which they may. */
export function smallerOrder<T extends Ordered<T>>(ones: readonly T[]): T[] {
  const row = new PlacedTexts(ones);
  const sizeNow = () => gzipSync(row.order.map((text) => ones[text]?.text).join(";")).length;
  const bySize = [...ones.entries()].toSorted(([, a], [, b]) => b.text.length - a.text.length);
  let least = sizeNow();
  for (const [text] of bySize.slice(0, MEASURED)) {
    const undo = row.shift(text);
    const size = undo ? sizeNow() : least;
    if (size < least) least = size;
    else undo?.();
  }
  return row.order.flatMap((text) => ones[text] ?? []);
}
