// How often something may be done: at once, and as time passes.

import { expect, test } from "vitest";
import { TokenBucket } from "../../src/mcp-client/token-bucket.ts";
import { ManualClock } from "./manual-clock.ts";

test("a budget comes back with time, and never more than there was", () => {
  const clock = new ManualClock();
  const budget = new TokenBucket(clock, { capacity: 10, perSecond: 2 });
  expect(budget.take(11)).toBe(false);
  expect(budget.take(10)).toBe(true);
  expect(budget.take()).toBe(false);
  clock.advance(500);
  expect([budget.take(), budget.take()]).toEqual([true, false]);
  clock.advance(3_600_000);
  expect([budget.take(10), budget.take()]).toEqual([true, false]);
});

test("a budget loses no parts between two looks", () => {
  const clock = new ManualClock();
  const budget = new TokenBucket(clock, { capacity: 1, perSecond: 1 });
  expect(budget.take()).toBe(true);
  for (let count = 0; count < 3; count += 1) {
    clock.advance(250);
    expect(budget.take()).toBe(false);
  }
  clock.advance(250);
  expect(budget.take()).toBe(true);
});

test("a clock that is set back gives nothing and takes nothing", () => {
  let now = 10_000;
  const budget = new TokenBucket({ now: () => now }, { capacity: 2, perSecond: 1 });
  expect(budget.take()).toBe(true);
  now = 0;
  expect([budget.take(), budget.take()]).toEqual([true, false]);
});

test("a budget without end stays one", () => {
  const budget = new TokenBucket(new ManualClock(), { capacity: Infinity, perSecond: 0 });
  expect([budget.take(1e300), budget.take()]).toEqual([true, true]);
});
