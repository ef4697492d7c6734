// The one alarm of an object: the earliest time that was asked for stands, whichever instance asked.

import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { createWake } from "../../src/tenants/wake.ts";

const HOUR = 3_600_000;
let made = 0;

/** What is set after these times were asked for by one instance, and then, before it knows of them, by the next. */
async function alarmAfter(first: readonly number[], second: readonly number[]): Promise<number | null> {
  made += 1;
  return runInDurableObject(env.SESSIONS.getByName(`wake/${made}`), async (_instance, ctx) => {
    for (const times of [first, second]) {
      const wake = createWake(ctx);
      for (const time of times) wake.at(time);
      // Whatever waits for the alarm that is set has its turn before this.
      await ctx.blockConcurrencyWhile(async () => {});
    }
    return ctx.storage.getAlarm();
  });
}

const soon = () => Date.now() + HOUR;

it("sets the earliest time that was asked for", async () => {
  const time = soon();
  expect(await alarmAfter([], [time + 1, time, time + 2])).toBe(time);
});

it("keeps an earlier instance's alarm when a later one is asked for at once", async () => {
  const time = soon();
  expect(await alarmAfter([time], [time + 1])).toBe(time);
});

it("moves an earlier instance's alarm to an earlier time", async () => {
  const time = soon();
  expect(await alarmAfter([time], [time - 1])).toBe(time - 1);
});
