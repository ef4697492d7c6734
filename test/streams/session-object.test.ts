// A 2025 session's memory: it comes with the first thing to remember and goes with the session, wholly.

import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";

let made = 0;
function freshSession() {
  made += 1;
  return env.SESSIONS.getByName(`tenant/nonce-${made}`);
}

type Session = ReturnType<typeof freshSession>;

function storedIn(session: Session): Promise<{ entries: number; tables: string[]; alarm: number | null }> {
  return runInDurableObject(session, async (_instance, { storage }) => ({
    entries: [...storage.kv.list()].length,
    tables: storage.sql
      .exec<{ name: string }>("SELECT name FROM sqlite_master WHERE name NOT LIKE '%cf%' AND name NOT LIKE 'sqlite%'")
      .toArray()
      .map(({ name }) => name),
    alarm: await storage.getAlarm(),
  }));
}

/** Its time is over: then its alarm rings. */
async function expire(session: Session): Promise<void> {
  await runInDurableObject(session, (_instance, { storage }) => {
    storage.kv.put("expires", Date.now());
  });
}

const later = () => Date.now() + 3_600_000;

it("remembers the log level across an eviction", async () => {
  const session = freshSession();
  await session.setLogLevel("warning", later());
  await evictDurableObject(session);
  expect(await session.logLevel()).toBe("warning");
});

it("remembers the newest level and keeps the first alarm", async () => {
  const session = freshSession();
  const expires = later();
  await session.setLogLevel("debug", expires);
  await session.setLogLevel("error", expires + 1000);
  expect(await session.logLevel()).toBe("error");
  expect((await storedIn(session)).alarm).toBe(expires);
});

it("keeps sessions apart", async () => {
  const one = freshSession();
  await one.setLogLevel("debug", later());
  expect(await freshSession().logLevel()).toBeUndefined();
});

it("leaves nothing behind for a session that only asked", async () => {
  const session = freshSession();
  expect(await session.logLevel()).toBeUndefined();
  expect(await storedIn(session)).toEqual({ entries: 0, tables: [], alarm: null });
});

it("deletes everything at its alarm", async () => {
  const session = freshSession();
  await session.setLogLevel("info", later());
  await expire(session);
  expect(await runDurableObjectAlarm(session)).toBe(true);
  expect(await storedIn(session)).toEqual({ entries: 0, tables: [], alarm: null });
  expect(await runDurableObjectAlarm(session)).toBe(false);
});

it("goes on after its alarm without a new instance", async () => {
  const session = freshSession();
  await session.setLogLevel("info", later());
  await expire(session);
  await runDurableObjectAlarm(session);
  expect(await session.logLevel()).toBeUndefined();
  const expires = later();
  await session.setLogLevel("alert", expires);
  expect(await session.logLevel()).toBe("alert");
  expect((await storedIn(session)).alarm).toBe(expires);
});

it("takes a call that it is given twice for one: whoever gave it may not have heard that it has it", async () => {
  const session = freshSession();
  // Nobody's, so that its run ends at once.
  const record = JSON.stringify({ tenant: "nobody", profile: null, keyHash: null, call: { id: 1 } });
  const call = { key: "0123456789abcdef", request: "1", record, fallback: "{}", said: 0 };
  expect([await session.start(call, later()), await session.start(call, later())]).toEqual([true, true]);
});
