// An order that is given, in which each text in turn is moved to where it shares most with what stands around it:
// alike-order.ts takes one after the other, and never again one that it took.

import { gzipSync } from "node:zlib";
import { PlacedTexts, type Ordered } from "./placed-texts.ts";

/** How often each text is moved. More bring little, and take as long each. */
const ROUNDS = 2;

/** `ones` stand in an order in which they may. */
export function nearerOrder<T extends Ordered<T>>(ones: readonly T[]): T[] {
  const row = new PlacedTexts(ones);
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
