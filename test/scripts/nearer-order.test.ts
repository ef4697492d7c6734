import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { nearerOrder } from "../../scripts/nearer-order.ts";
import { smallerOrder } from "../../scripts/smaller-order.ts";

const PAIRS = 60;
const WINDOW = 32_768;

interface Text {
  readonly text: string;
  readonly after: Set<Text>;
}

/** Pairs that share most of their words, each so far apart that gzip does not see one from the other. */
function texts(): Text[] {
  return Array.from({ length: 2 * PAIRS }, (_, at) => ({
    text: `${words(at % PAIRS, 80)} ${words(at + PAIRS, 20)}`,
    after: new Set<Text>(),
  }));
}

/** In characters, between those of each pair. */
function distances(ones: readonly Text[], order: readonly Text[]): number[] {
  const starts = new Map<Text | undefined, number>();
  let start = 0;
  for (const one of order) {
    starts.set(one, start);
    start += one.text.length;
  }
  const startOf = (at: number): number => starts.get(ones[at]) ?? 0;
  return Array.from({ length: PAIRS }, (_, at) => Math.abs(startOf(at) - startOf(at + PAIRS)));
}

/** The same for the same seed. */
function words(seed: number, count: number): string {
  let state = seed + 1;
  const word = (): string => {
    state = (state * 48_271) % 2_147_483_647;
    return state.toString(36);
  };
  return Array.from({ length: count }, word).join(" ");
}

test("what shares something comes within reach of each other, each text once", () => {
  const ones = texts();
  const order = nearerOrder(ones);
  expect(Math.min(...distances(ones, ones))).toBeGreaterThan(WINDOW);
  expect(Math.max(...distances(ones, order))).toBeLessThan(WINDOW);
  expect(new Set(order)).toEqual(new Set(ones));
  expect(order).toHaveLength(ones.length);
});

test("what gzip makes of an order is no more than of the one that was given", () => {
  const ones = texts();
  const sizeOf = (order: readonly Text[]): number => gzipSync(order.map(({ text }) => text).join(";")).length;
  expect(sizeOf(smallerOrder(ones))).toBeLessThan(sizeOf(ones));
  const nearer = nearerOrder(ones);
  expect(sizeOf(smallerOrder(nearer))).toBeLessThanOrEqual(sizeOf(nearer));
});

describe.each([
  ["nearer", nearerOrder],
  ["smaller", smallerOrder],
] as const)("in the %s order", (_name, orderOf) => {
  test("what must stand before another one stays before it, each text once", () => {
    const ones = texts();
    for (const [at, one] of ones.entries()) {
      const earlier = ones[at - 40];
      if (earlier) one.after.add(earlier);
    }
    const order = orderOf(ones);
    const places = new Map(order.map((one, at) => [one, at]));
    expect(order).not.toEqual(ones);
    expect(new Set(order)).toEqual(new Set(ones));
    expect(order).toHaveLength(ones.length);
    for (const one of ones) {
      for (const earlier of one.after) expect(places.get(earlier)).toBeLessThan(places.get(one) ?? 0);
    }
  });

  test("the same texts in the same order give the same one", () => {
    const order = (): string[] => orderOf(texts()).map(({ text }) => text);
    expect(order()).toEqual(order());
  });
});
