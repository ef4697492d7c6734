import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { createAlarmScheduler } from "../../../src/tenants/object/alarm-scheduler.ts";
import { askOf, freshSession, later, storedIn } from "../../support/workerd/session.ts";

it("a new instance that asks for a later alarm keeps an earlier one that it does not know yet", async () => {
  const session = freshSession();
  // Lost with its instance: the next one asks for an alarm while it is made.
  await session.ask(askOf("a", []), later());
  const earlier = Date.now() + 1000;
  await runInDurableObject(session, (_instance, { storage }) => storage.setAlarm(earlier));
  await evictDurableObject(session);
  expect((await storedIn(session)).alarm).toBe(earlier);
});

it("a new instance that asks for an earlier alarm replaces a later one", async () => {
  const session = freshSession();
  const expires = later();
  await session.ask(askOf("a", []), expires);
  expect((await storedIn(session)).alarm).toBe(expires);
  await evictDurableObject(session);
  expect((await storedIn(session)).alarm).toBeLessThan(expires);
});

it.each([0, -1, Date.UTC(9999, 0)])("sets an alarm for %s, a time that the platform would refuse", async (time) => {
  const session = freshSession();
  const ended = await session.ask(askOf("a", []), later());
  expect(ended).toBeDefined();
  await runInDurableObject(session, async (_instance, state) => {
    await state.storage.deleteAlarm();
    const wake = createAlarmScheduler(state);
    await state.blockConcurrencyWhile(async () => {});
    wake.schedule(time);
    wake.schedule(time);
    const alarm = await state.storage.getAlarm();
    // What is due at once may have rung already.
    if (time > 0) expect(alarm).toBeGreaterThan(Date.now());
    // A later wish for an earlier time is heard: nothing is taken for set that was not.
    wake.clear();
    wake.schedule(Date.now() + 60_000);
    expect(await state.storage.getAlarm()).toBeLessThan(Date.now() + 60_001);
  });
});
