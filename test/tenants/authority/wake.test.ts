// The one alarm of an object, from the first moment of an instance on: the earliest wish stands.

import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { askOf, freshSession, later, storedIn } from "../../support/worker/session.ts";

it("keeps an earlier alarm that a new instance does not know yet when it asks for a later one", async () => {
  const session = freshSession();
  // Lost with its instance: the next one asks for an alarm while it is made.
  await session.ask(askOf("a", []), later());
  const earlier = Date.now() + 1000;
  await runInDurableObject(session, (_instance, { storage }) => storage.setAlarm(earlier));
  await evictDurableObject(session);
  expect((await storedIn(session)).alarm).toBe(earlier);
});

it("replaces a later alarm by what a new instance asks for", async () => {
  const session = freshSession();
  const expires = later();
  await session.ask(askOf("a", []), expires);
  expect((await storedIn(session)).alarm).toBe(expires);
  await evictDurableObject(session);
  expect((await storedIn(session)).alarm).toBeLessThan(expires);
});
