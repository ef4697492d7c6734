// Reading a stream of events of which much has arrived at once: others get their turn in between, and a stream of lines that say
// nothing is left. Turns and lines are counted; nothing here depends on how fast it runs.

import { expect, test } from "vitest";
import { CALL_LIMITS, STREAM_LIMITS, type AnswerLimits } from "../../src/mcp-client/answer-limits.ts";
import { createStreamBudget } from "../../src/mcp-client/stream-budget.ts";
import { BodyReader } from "../../src/mcp-client/body-reader.ts";
import type { Clock } from "../../src/mcp-client/clock.ts";
import { IncomingEvents } from "../../src/mcp-client/incoming-events.ts";
import { ExchangeLifecycle } from "../../src/mcp-client/exchange-lifecycle.ts";
import { faultOf } from "./client-setup.ts";
import { ManualClock } from "./manual-clock.ts";

/** Gives every turn that is asked for, and says how many those were. */
class TurningClock implements Clock {
  turns = 0;
  timeMs = 0;
  readonly now = () => this.timeMs;
  readonly random = () => 0;
  readonly schedule = (milliseconds: number, run: () => void) => {
    if (milliseconds > 0) return () => {};
    const turn = setImmediate(() => {
      this.turns += 1;
      run();
    });
    return () => clearImmediate(turn);
  };
}

interface Made {
  readonly events: IncomingEvents;
  readonly caller: AbortController;
  readonly isCancelled: () => boolean;
}

/** A stream on which all of this has arrived already. */
function streaming(
  clock: Clock,
  text: string,
  limits: AnswerLimits = CALL_LIMITS,
  held?: (bytes: number) => void,
): Made {
  const caller = new AbortController();
  let cancelled = false;
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode(text)),
    cancel: () => void (cancelled = true),
  });
  const { bytes, lines } = createStreamBudget(limits, clock);
  const reader = new BodyReader(body, new ExchangeLifecycle(clock, limits, caller.signal), bytes);
  const events = new IncomingEvents(reader, {
    maxBytes: limits.messageBytes,
    lines,
    clock,
    lastEventId: undefined,
    reserveBytes: held,
  });
  return { events, caller, isCancelled: () => cancelled };
}

test("others get their turn while events are read that have all arrived", async () => {
  const clock = new TurningClock();
  const count = 20_000;
  const { events } = streaming(clock, `data: {"n":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}\n\n`.repeat(count));
  let inOneTurn = 0;
  let most = 0;
  for (let [read, seen] = [0, 0]; read < count; read += 1) {
    expect((await events.next())?.data).toHaveLength(38);
    inOneTurn = clock.turns === seen ? inOneTurn + 1 : 1;
    seen = clock.turns;
    most = Math.max(most, inOneTurn);
  }
  expect(most).toBeLessThan(3000);
  expect(clock.turns).toBeGreaterThan(8);
  events.close();
});

test("others get their turn while messages of many characters are read", async () => {
  const clock = new TurningClock();
  const { events } = streaming(clock, `data: ${"x".repeat(30_000)}\n\n`.repeat(100));
  for (let read = 0; read < 100; read += 1) await events.next();
  expect(clock.turns).toBeGreaterThan(8);
  events.close();
});

test.each([
  { what: "events without data", line: "id\n\n" },
  { what: "comments", line: ":\n" },
  { what: "lines of one message", line: "data\n" },
])("a stream of nothing but $what is left, and others get their turn until then", async ({ line }) => {
  const clock = new TurningClock();
  const { events, isCancelled } = streaming(clock, line.repeat(1_000_000));
  const { lines } = CALL_LIMITS;
  const fault = await faultOf(events.next());
  expect(fault).toEqual({ kind: "tooLarge", what: "stream", limitLines: lines, sent: "yes" });
  expect(isCancelled()).toBe(true);
  // One part of 16 KiB has at most as many lines as bytes.
  expect(clock.turns).toBeGreaterThanOrEqual(Math.floor(lines / (4096 + 16_384)));
});

test("an event of many short lines holds what its lines take, until it ends", async () => {
  const statuses: number[] = [];
  const text = `${"data: x\n".repeat(100_000)}\n`;
  const { events } = streaming(new TurningClock(), `${text}data: y\n`, CALL_LIMITS, (bytes) => statuses.push(bytes));
  expect((await events.next())?.data).toHaveLength(2 * 100_000 - 1);
  expect(Math.max(...statuses)).toBeGreaterThan(4_500_000);
  expect(Math.max(...statuses)).toBeLessThan(5_000_000);
  expect(statuses.at(-1)).toBeLessThan(100);
  events.close();
});

test("events before the line that is too many are handed over", async () => {
  const { events } = streaming(new TurningClock(), "data: x\n\ndata: y\n\n:\n", { ...CALL_LIMITS, lines: 4 });
  expect([(await events.next())?.data, (await events.next())?.data]).toEqual(["x", "y"]);
  expect(await faultOf(events.next())).toMatchObject({ kind: "tooLarge", limitLines: 4 });
});

test("a stream that stands open may have more lines as time passes", async () => {
  const limits = { ...STREAM_LIMITS, lines: 1000, linesPerSecond: 10 };
  const clock = new TurningClock();
  // Two lines each; one part of what has arrived at once has hundreds.
  const event = `data: ${"x".repeat(90)}\n\n`;
  const { events } = streaming(clock, event.repeat(1000), limits);
  for (let read = 0; read < 1000; read += 1) {
    expect((await events.next())?.data).toHaveLength(90);
    clock.timeMs += 200;
  }
  events.close();
  const hasty = streaming(new TurningClock(), event.repeat(1000), limits).events;
  let read = 0;
  const fault = await faultOf(
    (async () => {
      while (await hasty.next()) read += 1;
    })(),
  );
  expect(fault).toMatchObject({ kind: "tooLarge", limitLines: 1000 });
  expect(read).toBeLessThan(700);
});

test("a caller who goes while others have their turn ends the stream", async () => {
  const clock = new ManualClock();
  const limits = { ...CALL_LIMITS, totalMs: Infinity, silenceMs: Infinity };
  const { events, caller, isCancelled } = streaming(clock, "id\n\n".repeat(100_000), limits);
  const reading = faultOf(events.next());
  await clock.untilWaitsFor(0);
  caller.abort();
  expect(await reading).toMatchObject({ kind: "cancelled" });
  expect(isCancelled()).toBe(true);
  expect(clock.pending).toEqual([]);
});

test("a stream that is closed while others have their turn has ended", async () => {
  const clock = new ManualClock();
  const limits = { ...CALL_LIMITS, totalMs: Infinity, silenceMs: Infinity };
  const { events } = streaming(clock, "id\n\n".repeat(100_000), limits);
  const reading = events.next();
  await clock.untilWaitsFor(0);
  events.close();
  expect(await reading).toBeUndefined();
  expect(clock.pending).toEqual([]);
});
