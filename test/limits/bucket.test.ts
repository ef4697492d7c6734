import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Bucket, PLATFORM_PARTS } from "../../src/limits/bucket.ts";
import { SEED } from "../support/seed.ts";

/** Waits in milliseconds before each message. */
const waits = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 5000 })), { maxLength: 400 });
const limits = fc.integer({ min: 1, max: 2000 });

interface Passed {
  readonly times: readonly number[];
  readonly tried: readonly number[];
}

function run(perMinute: number, pauses: readonly number[]): Passed {
  let now = 1_000_000;
  const bucket = new Bucket(perMinute, now);
  const times: number[] = [];
  const tried: number[] = [];
  for (const pause of pauses) {
    now += pause;
    tried.push(now);
    if (bucket.take(perMinute, now)) times.push(now);
  }
  return { times, tried };
}

describe("a bucket", () => {
  test("lets through, in any span, at most its limit at once and what flows in during the span", () => {
    fc.assert(
      fc.property(limits, waits, (perMinute, pauses) => {
        const { times } = run(perMinute, pauses);
        for (let from = 0; from < times.length; from += 1) {
          for (let to = from; to < times.length; to += 1) {
            const span = (times[to] ?? 0) - (times[from] ?? 0);
            expect(to - from + 1).toBeLessThanOrEqual(perMinute + (span * perMinute) / 60_000 + 1e-6);
          }
        }
      }),
      { ...SEED, numRuns: 60 },
    );
  });

  test("lets through everything that never exceeds its limit in a minute", () => {
    fc.assert(
      fc.property(limits, waits, (perMinute, pauses) => {
        const { times, tried } = run(perMinute, pauses);
        const busiest = Math.max(0, ...tried.map((at) => tried.filter((one) => one >= at && one < at + 60_000).length));
        if (busiest <= perMinute) expect(times).toEqual(tried);
      }),
      SEED,
    );
  });

  test("has one to take after exactly the time that it says", () => {
    fc.assert(
      fc.property(limits, fc.integer({ min: 0, max: 100_000 }), (perMinute, start) => {
        const bucket = new Bucket(perMinute, start);
        while (bucket.take(perMinute, start));
        const wait = bucket.waitMs(perMinute);
        if (wait > 1) expect(bucket.take(perMinute, start + wait - 1)).toBe(false);
        expect(bucket.take(perMinute, start + wait + 1)).toBe(true);
      }),
      SEED,
    );
  });

  test("takes nothing away when the clock goes backwards", () => {
    const bucket = new Bucket(10, 1000);
    expect(bucket.take(10, 1000)).toBe(true);
    expect(bucket.take(10, 0)).toBe(true);
    expect(bucket.level).toBe(8);
  });

  test("holds no more than its limit after a limit was lowered", () => {
    const bucket = new Bucket(100, 0);
    expect(Array.from({ length: 10 }, () => bucket.take(5, 0)).filter(Boolean)).toHaveLength(5);
  });

  test("reports nothing to its location while more than half is left, then all that is missing, in parts", () => {
    fc.assert(
      fc.property(fc.integer({ min: PLATFORM_PARTS, max: 5000 }), (perMinute) => {
        const bucket = new Bucket(perMinute, 0);
        let parts = 0;
        for (let taken = 1; taken <= perMinute; taken += 1) {
          bucket.take(perMinute, 0);
          const due = bucket.partsDue(perMinute);
          if (taken <= perMinute / 2) expect(due).toBe(0);
          parts += due;
        }
        expect(parts).toBeGreaterThanOrEqual(PLATFORM_PARTS - 1);
        expect(parts).toBeLessThanOrEqual(PLATFORM_PARTS);
      }),
      { ...SEED, numRuns: 20 },
    );
  });

  test("gives nothing for a quarter of a minute after its location was found too full", () => {
    const bucket = new Bucket(600, 0);
    bucket.pause(600);
    expect(bucket.take(600, 14_900)).toBe(false);
    expect(bucket.take(600, 15_000)).toBe(true);
  });
});
