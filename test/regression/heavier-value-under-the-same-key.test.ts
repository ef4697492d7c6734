// A value that was set again counted with the weight of the first one, so a map held more than it may.

import { expect, test } from "vitest";
import { LruMap } from "../../src/limits/lru-map.ts";

test("a heavier value under the same key counts with its own weight", () => {
  const map = new LruMap<number>(100, (weight) => weight);
  const keys = Array.from({ length: 20 }, (_none, at) => String(at));
  for (const key of keys) {
    map.set(key, 1);
    map.set(key, 40);
  }
  const weights = keys.map((key) => map.get(key) ?? 0);
  expect(weights.reduce((sum, weight) => sum + weight)).toBeLessThanOrEqual(100 + 40);
});

test("a value that is replaced no longer counts", () => {
  const map = new LruMap<number>(100, (weight) => weight);
  map.set("other", 10);
  for (let at = 0; at < 100; at += 1) map.set("same", at % 2 === 0 ? 30 : 1);
  expect(map.get("other")).toBe(10);
});
