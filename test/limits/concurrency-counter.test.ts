import * as fc from "fast-check";
import { expect, test } from "vitest";
import { ConcurrencyCounter } from "../../src/limits/concurrency-counter.ts";
import { SEED } from "../support/seed.ts";

test("as many run at once as may, however they begin and end", () => {
  const steps = fc.array(fc.tuple(fc.boolean(), fc.integer({ min: 0, max: 300 })), { maxLength: 300 });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 20 }), steps, (most, all) => {
      const inUse = new ConcurrencyCounter();
      const running: number[] = [];
      let now = 50_000;
      for (const [begins, wait] of all) {
        now += wait;
        const ticket = begins ? inUse.acquire(most, now) : undefined;
        if (begins) expect(ticket === undefined).toBe(running.length >= most);
        if (ticket !== undefined) running.push(ticket);
        if (!begins) {
          const ended = running.shift();
          if (ended !== undefined) inUse.release(ended);
        }
      }
    }),
    SEED,
  );
});

test("calls that never said that they ended count for three minutes at most", () => {
  const inUse = new ConcurrencyCounter();
  expect(inUse.acquire(1, 0)).toBe(0);
  expect(inUse.acquire(1, 119_999)).toBeUndefined();
  const late = inUse.acquire(1, 180_000);
  expect(late).toBe(3);
  inUse.release(0);
  expect(inUse.acquire(1, 180_000)).toBeUndefined();
  inUse.release(late ?? -1);
  expect(inUse.acquire(1, 180_000)).toBe(3);
});
