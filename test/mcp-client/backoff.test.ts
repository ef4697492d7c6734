// Waiting: longer each time in vain, never shorter than the server asks, never the same for everybody; and a pause that a
// signal ends leaves nothing behind.

import { describe, expect, test } from "vitest";
import { Backoff } from "../../src/mcp-client/backoff.ts";
import { pause, SYSTEM_CLOCK } from "../../src/mcp-client/clock.ts";
import { ManualClock } from "./manual-clock.ts";

/** Chance says the most that it can. */
function backoff(chance: number): Backoff {
  return new Backoff(Object.assign(new ManualClock(), { chance }));
}

describe("pauses", () => {
  test("double from the second failure on, up to half a minute, and begin anew", () => {
    const waits = backoff(1);
    expect(Array.from({ length: 8 }, () => waits.nextDelayMs(undefined))).toEqual([
      1000, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000,
    ]);
    waits.recordConnection(10_000, false);
    expect([5, 5, 5].map((requestCount) => waits.nextDelayMs(requestCount))).toEqual([5, 1000, 2000]);
  });

  test("begin nearly anew after a connection that was useful, but not at the server's word while it is short", () => {
    const waits = backoff(1);
    const drop = (wasUseful: boolean) => {
      waits.recordConnection(100, wasUseful);
      return waits.nextDelayMs(0);
    };
    expect([drop(true), drop(true), drop(true)]).toEqual([0, 1000, 1000]);
    expect([drop(false), drop(false), drop(true)]).toEqual([2000, 4000, 1000]);
  });

  test("are spread over their second half, so that not all come back at once", () => {
    const first = (chance: number) => backoff(chance).nextDelayMs(undefined);
    expect([0, 0.25, 0.5, 1].map(first)).toEqual([500, 625, 750, 1000]);
  });

  test("are never shorter than the server asks, however the dice fall", () => {
    const waits = backoff(0);
    expect([60_000, 60_000, 60_000].map((requestCount) => waits.nextDelayMs(requestCount))).toEqual([
      60_000, 60_000, 60_000,
    ]);
    expect(backoff(0).nextDelayMs(0)).toBe(0);
  });

  test("are no longer than an hour, whatever a server asks for", () => {
    const waits = backoff(1);
    expect([999_999_999, 999_999_999].map((requestCount) => waits.nextDelayMs(requestCount))).toEqual([
      3_600_000, 3_600_000,
    ]);
  });
});

describe("a pause", () => {
  test("ends after its time", async () => {
    const clock = new ManualClock();
    const signal = new AbortController().signal;
    const paused = pause(clock, 100, signal);
    clock.advance(100);
    expect(await paused).toBe(true);
  });

  test("ends with the signal, and leaves no timer", async () => {
    const clock = new ManualClock();
    const abort = new AbortController();
    const paused = pause(clock, 100, abort.signal);
    abort.abort();
    expect(await paused).toBe(false);
    expect(clock.pending).toEqual([]);
    expect(await pause(clock, 100, abort.signal)).toBe(false);
    expect(clock.pending).toEqual([]);
  });

  test("is real on the system's clock, and can be taken back", async () => {
    const began = SYSTEM_CLOCK.now();
    expect(await pause(SYSTEM_CLOCK, 0, undefined)).toBe(true);
    expect(SYSTEM_CLOCK.now()).toBeGreaterThanOrEqual(began);
    expect(SYSTEM_CLOCK.random()).toBeLessThan(1);
    // Longer than any timer can be, which would fire at once.
    const abort = new AbortController();
    const long = pause(SYSTEM_CLOCK, 2 ** 40, abort.signal);
    await pause(SYSTEM_CLOCK, 0, undefined);
    abort.abort();
    expect(await long).toBe(false);
  });
});
