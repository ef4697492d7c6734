// A 2025 session's memory: it comes with the first thing to remember and goes with the session, wholly.

import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { openSessionSocket, type SessionStub } from "../../src/sessions/session-stub.ts";
import {
  askOf,
  freshSession,
  later,
  NOTHING,
  questionOf,
  runnerOf,
  storedIn,
  viewerOf,
} from "../support/workerd/session.ts";

/** Its time is over: then its alarm rings. */
async function expire(session: SessionStub): Promise<void> {
  await runInDurableObject(session, (_instance, { storage }) => {
    storage.kv.put("expires", Date.now());
  });
}

it("a session remembers the log level across an eviction", async () => {
  const session = freshSession();
  await session.setLogLevel("warning", later());
  await evictDurableObject(session);
  expect(await session.logLevel()).toBe("warning");
});

it("a session remembers the newest level and keeps the first alarm", async () => {
  const session = freshSession();
  const expires = later();
  await session.setLogLevel("debug", expires);
  await session.setLogLevel("error", expires + 1000);
  expect(await session.logLevel()).toBe("error");
  expect((await storedIn(session)).alarm).toBe(expires);
});

it("a session that only asked leaves nothing behind", async () => {
  const session = freshSession();
  expect(await session.logLevel()).toBeUndefined();
  expect(await storedIn(session)).toEqual(NOTHING);
});

it("a session is forgotten soon when it only cancelled something, and not when more is to be remembered", async () => {
  const session = freshSession();
  await session.cancel('"request"', later());
  const { alarm } = await storedIn(session);
  expect(alarm).toBeLessThan(Date.now() + 120_000);
  await session.setLogLevel("info", later());
  await runDurableObjectAlarm(session);
  expect(await session.logLevel()).toBe("info");
});

it("a session deletes everything at its alarm", async () => {
  const session = freshSession();
  await session.setLogLevel("info", later());
  await expire(session);
  expect(await runDurableObjectAlarm(session)).toBe(true);
  expect(await storedIn(session)).toEqual(NOTHING);
  expect(await runDurableObjectAlarm(session)).toBe(false);
});

it("a session goes on after its alarm without a new instance", async () => {
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

const refusalTo = (session: SessionStub, call: string, after: number) =>
  openSessionSocket(session, { as: "viewer", call }, after);

describe("the end of a session", () => {
  it("closes its sockets and leaves no row and no alarm", async () => {
    const session = freshSession();
    await session.setLogLevel("debug", later());
    await session.subscribe("note:a", "note:a", later());
    await session.ask(askOf("a", [questionOf("q")]), later());
    const sockets = [await viewerOf(session, "a"), await runnerOf(session, "a")];
    await session.end();
    expect(await Promise.all(sockets.map(({ ended }) => ended))).toEqual([4002, 4002]);
    expect(await storedIn(session)).toEqual(NOTHING);
    expect(await runDurableObjectAlarm(session)).toBe(false);
  });

  it("is the end of its calls, and a run that hears of it late does not bring it back", async () => {
    const session = freshSession();
    await session.ask(askOf("a", [questionOf("q")]), later());
    await session.end();
    expect(await session.append("a", 1, '"late"', 1)).toBe(false);
    expect(await session.finish("a", 1, '"late"')).toBe(false);
    expect(await session.answer("q", "{}")).toBe("unknown");
    expect(await session.ask(askOf("a", [questionOf("q")], { call: null }), later())).toEqual({ state: "stale" });
    expect(await refusalTo(session, "a", 0)).toEqual({ refused: 404 });
    expect(await storedIn(session)).toEqual(NOTHING);
  });

  it("comes at its alarm, with calls, viewers and all", async () => {
    const session = freshSession();
    await session.ask(askOf("a", [questionOf("q")]), later());
    const viewer = await viewerOf(session, "a");
    await expire(session);
    await runDurableObjectAlarm(session);
    expect(await viewer.ended).toBe(4002);
    expect(await storedIn(session)).toEqual(NOTHING);
  });

  it("is not put off by calls that are over", async () => {
    const session = freshSession();
    const expires = Date.now() + 60_000;
    await session.ask(askOf("a", []), expires);
    await session.finish("a", 1, '"result"');
    expect((await storedIn(session)).alarm).toBe(expires);
  });
});
