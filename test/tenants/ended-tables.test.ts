// Which sessions were ended: all of them for as long as their ids last, and few at once on a lease.

import { describe, expect, it } from "vitest";
import { endedSince, endedTables, type EndedMethods } from "../../src/tenants/ended-tables.ts";
import { onBench, scansOf, type Bench } from "../support/worker/tenant.ts";

const DAY = 86_400_000;

/** Each a millisecond after the one before. */
function end({ methods, clock }: Bench<EndedMethods>, count: number, lasting = 7 * DAY): void {
  for (let at = 0; at < count; at += 1) {
    clock.now += 1;
    methods.endSession(`nonce-${clock.now}`, clock.now + lasting);
  }
}

describe("a lease", () => {
  it("carries nothing where no session was ended, and says so once", () =>
    onBench(endedTables, ({ sql }) => {
      expect(endedSince(sql, null)).toEqual({ cursor: 0, nonces: [], since: 0 });
      expect(endedSince(sql, 0)).toBeNull();
    }));

  it("carries all that ended since the last one", () =>
    onBench(endedTables, (bench) => {
      const { sql, clock } = bench;
      end(bench, 3);
      const first = endedSince(sql, null);
      expect(first).toMatchObject({ since: 0, nonces: { length: 3 } });
      end(bench, 1);
      const cursor = first?.cursor ?? 0;
      expect(endedSince(sql, cursor)).toEqual({ cursor: cursor + 1, nonces: [`nonce-${clock.now}`], since: 0 });
      expect(endedSince(sql, cursor + 1)).toBeNull();
    }));

  it.each([null, 10])("carries the newest thousand of two thousand, and since when those are all: after %j", (after) =>
    onBench(endedTables, (bench) => {
      const { sql, clock, methods } = bench;
      end(bench, 2000);
      const ended = endedSince(sql, after);
      const newest = Array.from({ length: 1000 }, (_none, at) => `nonce-${clock.now - at}`);
      expect(ended).toEqual({ cursor: 2000, nonces: newest, since: clock.now - 999 });
      expect(JSON.stringify(ended).length).toBeLessThan(64 * 1024);
      // The others are refused, too, by whoever asks.
      expect(methods.hasEnded(`nonce-${clock.now - 1999}`)).toBe(true);
    }),
  );
});

describe("an ended session", () => {
  it("is one though it is ended again, and none that was not", () =>
    onBench(endedTables, ({ methods, clock, sql }) => {
      for (let times = 0; times < 3; times += 1) methods.endSession("twice", clock.now + DAY);
      expect([methods.hasEnded("twice"), methods.hasEnded("never")]).toEqual([true, false]);
      expect(endedSince(sql, null)?.nonces).toEqual(["twice"]);
    }));

  it("is not kept when its id has expired already", () =>
    onBench(endedTables, ({ methods, clock }) => {
      methods.endSession("over", clock.now);
      expect(methods.hasEnded("over")).toBe(false);
    }));

  it("is forgotten when its id expires, and the alarm is set for the next one", () =>
    onBench(endedTables, async (bench) => {
      const { open, methods, clock, wakes } = bench;
      end(bench, 2, DAY);
      expect(wakes).toEqual([clock.now - 1 + DAY, clock.now + DAY]);
      const [first, second] = [`nonce-${clock.now - 1}`, `nonce-${clock.now}`];
      expect(await open.alarm?.(clock.now - 1 + DAY)).toBe(clock.now + DAY);
      expect([methods.hasEnded(first), methods.hasEnded(second)]).toEqual([false, true]);
      expect(await open.alarm?.(clock.now + DAY)).toBeUndefined();
      expect(methods.hasEnded(second)).toBe(false);
    }));

  it("is found without reading a whole table", () =>
    onBench(endedTables, async (bench) => {
      const { open, methods, statements, sql, clock } = bench;
      end(bench, 1);
      methods.hasEnded("never");
      await open.alarm?.(clock.now + 8 * DAY);
      expect([...statements].flatMap((statement) => scansOf(sql, statement))).toEqual([]);
    }));
});
