// When the bench fails: on what is there each time it is measured, and not on what was there once. Its measurements are
// made up here; the real ones say nothing in a test.

import { describe, expect, test } from "vitest";
import { measureWithin, NOISE, REPEATS, verdictOf } from "../../bench/budgets.ts";
import type { Comparison } from "../../bench/measure.ts";
import { brokenBudgets, type Row } from "../../bench/report.ts";

const BUDGET = 1.5;
const FAILING = BUDGET * NOISE + 0.01;

/** Measures these medians, one after the other, and says how many milliseconds were waited before each further one. */
async function measuring(...medians: number[]) {
  const left = medians.values();
  const waited: number[] = [];
  const measured = await measureWithin(
    BUDGET,
    (median) => median,
    async () => left.next().value ?? Number.NaN,
    async (ms) => waited.push(ms),
  );
  return { ...measured, waited };
}

describe("a median", () => {
  test.each([
    [1.4, "ok"],
    [BUDGET, "ok"],
    [1.51, "noise"],
    [BUDGET * NOISE, "noise"],
    [FAILING, "OVER"],
  ] as const)("of %f is %s", (median, verdict) => {
    expect(verdictOf(median, BUDGET)).toBe(verdict);
  });
});

describe("a scenario", () => {
  test("that keeps its budget, or exceeds it by noise, is measured once", async () => {
    expect(await measuring(1.4)).toEqual({ best: 1.4, times: 1, waited: [] });
    expect(await measuring(1.6, 1.4)).toEqual({ best: 1.6, times: 1, waited: [] });
  });

  test("that a slow spell fell on is measured again later, until it holds", async () => {
    expect(await measuring(2.2, 1.45)).toEqual({ best: 1.45, times: 2, waited: [10_000] });
    expect(await measuring(2.2, 2, 1.6)).toEqual({ best: 1.6, times: 3, waited: [10_000, 20_000] });
  });

  test("that became slower fails, and is shown at its best", async () => {
    const { best, times } = await measuring(2, 1.9, 2.1, 2, 2.2, 1);
    expect({ best, times }).toEqual({ best: 1.9, times: 1 + REPEATS });
    expect(verdictOf(best, BUDGET)).toBe("OVER");
  });

  test("without a budget is measured once", async () => {
    const measured = await measureWithin(undefined, Number, async () => 100);
    expect(measured).toEqual({ best: 100, times: 1 });
  });
});

describe("a run", () => {
  const spread = (median: number) => ({ median, min: median, max: median });
  const comparison: Comparison = { subjectMicros: spread(1), bareMicros: spread(1), ratio: spread(1), requests: 1 };
  const row = (name: string, median: number): Row => ({ name, budget: BUDGET, ...comparison, ratio: spread(median) });

  test("says which budgets are exceeded beyond noise, and above what they fail", () => {
    const ratios = [row("kept", 1.5), row("noise", 1.7), row("slower", 1.9), { name: "free", ...comparison }];
    const fanOut = [
      { name: "one write", budgetMs: 250, millis: spread(280) },
      { name: "one change", budgetMs: 250, millis: spread(300) },
    ];
    expect(brokenBudgets({ ratios, fanOut })).toEqual([
      "slower: 1.90, budget ≤ 1.5, fails above 1.725",
      "fan-out, one change: 300 ms, budget ≤ 250, fails above 287.5",
    ]);
  });
});
