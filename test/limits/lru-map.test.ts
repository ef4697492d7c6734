// A map in bounded memory: what was used lately stays.

import { expect, test } from "vitest";
import { LruMap } from "../../src/limits/lru-map.ts";

test("a map keeps as many entries as it says, those that were used lately among them", () => {
  const map = new LruMap<number>(10);
  map.set("used", 0);
  const keys = Array.from({ length: 100 }, (_none, at) => String(at));
  for (const [at, key] of keys.entries()) {
    map.set(key, at);
    expect(map.get("used")).toBe(0);
  }
  expect(keys.filter((key) => map.get(key) !== undefined).length).toBeLessThanOrEqual(10);
  expect(map.get("99")).toBe(99);
});

test("a heavy entry takes the place of several, and one that is set again weighs once", () => {
  const map = new LruMap<number>(100, (value) => value);
  for (let at = 0; at < 1000; at += 1) map.set("same", 10);
  map.set("other", 10);
  expect([map.get("same"), map.get("other")]).toEqual([10, 10]);
  for (let at = 0; at < 20; at += 1) map.set(String(at), 40);
  const kept = Array.from({ length: 20 }, (_none, at) => map.get(String(at))).filter((one) => one !== undefined);
  expect(kept.length).toBeLessThanOrEqual(4);
});
