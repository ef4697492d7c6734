// What a session's object knows of the one stream that its client holds over HTTP+SSE: who has it, what is handed on to it,
// and what must be shown to a client that comes back without saying where it was.

import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import type { SessionStub } from "../../src/sessions/session-stub.ts";
import type { RunnerMessage } from "../../src/streams/socket-messages.ts";
import {
  askOf,
  freshSession,
  holderOf,
  later,
  newCall,
  NOTHING,
  questionOf,
  rowsIn,
  runnerOf,
  storedIn,
  viewerOf,
} from "../support/workerd/session.ts";
import type { Listening } from "../support/workerd/sockets.ts";

const MINUTE = 60_000;
const AGREED = '{"revision":"2024-11-05"}';

const sql = (session: SessionStub, statement: string) =>
  runInDurableObject(session, (_instance, { storage }) => {
    storage.sql.exec(statement);
  });
const callsOf = async (session: SessionStub) => (await session.sseState()).calls;

/** A holder that takes what comes. */
async function take(holder: Listening<RunnerMessage>): Promise<RunnerMessage> {
  const message = await holder.next();
  if ("posted" in message) holder.send(message.id);
  return message;
}

/** Resolves when its object has seen it go. */
async function leave(session: SessionStub, holder: Listening<unknown>): Promise<void> {
  holder.close();
  await expect.poll(() => runInDurableObject(session, (_instance, ctx) => ctx.getWebSockets().length)).toBe(0);
}

describe("what is posted", () => {
  it("is handed to the holder of the stream, and leaves nothing behind", async () => {
    const session = freshSession();
    const holder = await holderOf(session);
    const delivered = session.deliver("one", '{"id":1}');
    expect(await take(holder)).toEqual({ posted: '{"id":1}', id: "one" });
    expect(await delivered).toBe(true);
    expect(await storedIn(session)).toEqual(NOTHING);
  });

  it("is refused while nobody holds the stream: before, after, and when the socket was lost", async () => {
    const session = freshSession();
    expect(await session.deliver("a", "{}")).toBe(false);
    const lost = await holderOf(session);
    await evictDurableObject(session, { webSockets: "close" });
    await lost.ended;
    expect(await session.deliver("b", "{}")).toBe(false);
    const left = await holderOf(session);
    await leave(session, left);
    expect(await session.deliver("c", "{}")).toBe(false);
  });

  it("is not taken until its holder says so: one that leaves before has not taken it, and one before it did", async () => {
    const session = freshSession();
    const holder = await holderOf(session);
    const [one, two] = [session.deliver("one", "{}"), session.deliver("two", "{}")];
    await take(holder);
    await holder.next();
    holder.close();
    expect(await Promise.all([one, two])).toEqual([true, false]);
  });

  it("does not take the place of a newer one when it comes back after an accident", async () => {
    const session = freshSession();
    await session.setLogLevel("info", later());
    const newer = await holderOf(session, { since: 2 });
    await expect(holderOf(session, { since: 1, again: true })).rejects.toThrow("refused with 410");
    const taking = session.deliver("post", "text");
    expect(await newer.next()).toEqual({ posted: "text", id: "post" });
    newer.send("post");
    expect(await taking).toBe(true);
    const back = await holderOf(session, { since: 2, again: true });
    expect(await newer.ended).toBe(4000);
    back.close();
  });

  it("is not taken by a holder that was replaced before it said so, and goes to the next one", async () => {
    const session = freshSession();
    const older = await holderOf(session);
    const delivered = session.deliver("a", "{}");
    await older.next();
    const newer = await holderOf(session);
    expect(await older.ended).toBe(4000);
    expect(await delivered).toBe(false);
    const again = session.deliver("a", "{}");
    expect(await take(newer)).toMatchObject({ id: "a" });
    expect(await again).toBe(true);
  });

  it("is not mixed up with an id that nobody posted, which is heard and forgotten", async () => {
    const session = freshSession();
    const holder = await holderOf(session);
    holder.send("nobody's");
    const delivered = session.deliver("mine", "{}");
    expect(await take(holder)).toMatchObject({ id: "mine" });
    expect(await delivered).toBe(true);
  });

  it("reaches its holder through an object that slept", async () => {
    const session = freshSession();
    const holder = await holderOf(session);
    await evictDurableObject(session, { webSockets: "hibernate" });
    const delivered = session.deliver("a", "{}");
    expect(await take(holder)).toEqual({ posted: "{}", id: "a" });
    expect(await delivered).toBe(true);
  });

  it("may be as large as a body may be, and is not changed", async () => {
    const session = freshSession();
    const holder = await holderOf(session);
    const text = JSON.stringify({ text: '😀"\\é'.repeat(400_000) });
    const delivered = session.deliver("a", text);
    const come = await take(holder);
    expect("posted" in come && come.posted === text).toBe(true);
    expect(await delivered).toBe(true);
  });
});

describe("a holder", () => {
  it("takes the place of the one before it, and what is posted from then on", async () => {
    const session = freshSession();
    const holders = [await holderOf(session), await holderOf(session), await holderOf(session)] as const;
    expect(await Promise.all([holders[0].ended, holders[1].ended])).toEqual([4000, 4000]);
    const delivered = session.deliver("a", "{}");
    expect(await take(holders[2])).toMatchObject({ id: "a" });
    expect(await delivered).toBe(true);
  });

  it("is told of a call that is stored while it holds the stream, once, and of none that was there", async () => {
    const session = freshSession();
    await session.ask(askOf("before", []), later());
    const holder = await holderOf(session);
    await session.ask(askOf("asked", [questionOf("q")]), later());
    await session.ask(askOf("asked", [questionOf("q"), questionOf("q2")]), later());
    await session.start(newCall("started"), later());
    await session.start(newCall("started"), later());
    await session.ask(
      askOf(
        "full",
        Array.from({ length: 101 }, (_none, at) => questionOf(`f${at}`)),
      ),
      later(),
    );
    void session.deliver("end", "{}");
    expect(await holder.until((message) => "posted" in message)).toEqual([
      { stored: "asked" },
      { stored: "started" },
      { posted: "{}", id: "end" },
    ]);
  });

  it("that leaves is waited for: ten minutes later nothing is left, unless the client came back", async () => {
    const session = freshSession();
    await session.saveNegotiation(AGREED, later());
    const left = await holderOf(session);
    await leave(session, left);
    expect((await storedIn(session)).alarm).toBeLessThan(Date.now() + 11 * MINUTE);
    const back = await holderOf(session);
    await runDurableObjectAlarm(session);
    expect(await session.sseState()).toEqual({ negotiation: AGREED, calls: [] });
    await leave(session, back);
    await runInDurableObject(session, (_instance, { storage }) => {
      storage.kv.put("detachedUntil", Date.now());
    });
    await runDurableObjectAlarm(session);
    expect(await storedIn(session)).toEqual(NOTHING);
  });

  it("of a session that remembers nothing leaves nothing behind", async () => {
    const session = freshSession();
    const holder = await holderOf(session);
    await leave(session, holder);
    expect(await session.sseState()).toEqual({ negotiation: null, calls: [] });
    expect(await storedIn(session)).toEqual(NOTHING);
  });

  it("hears that the session is over", async () => {
    const session = freshSession();
    await session.saveNegotiation(AGREED, later());
    const holder = await holderOf(session);
    await session.end();
    expect(await holder.ended).toBe(4002);
    expect(await storedIn(session)).toEqual(NOTHING);
  });
});

describe("a client that does not say where it was", () => {
  it("is asked an open question again, with what follows it, and none that was answered before it", async () => {
    const session = freshSession();
    await session.ask(askOf("a", [questionOf("answered")]), later());
    await runnerOf(session, "a");
    await session.answer("answered", "{}");
    await session.append("a", 1, '"progress"', 1);
    expect(await callsOf(session)).toEqual([{ key: "a", from: 2 }]);
    await session.ask(askOf("a", [questionOf("open")]), later());
    expect(await callsOf(session)).toEqual([{ key: "a", from: 2 }]);
    await session.append("a", 1, '"more"', 2);
    expect(await callsOf(session)).toEqual([{ key: "a", from: 2 }]);
  });

  it("is shown a call that goes on without a question from now on, whatever it said", async () => {
    const session = freshSession();
    await session.ask(askOf("a", []), later());
    await runnerOf(session, "a");
    for (const count of [1, 2, 3]) await session.append("a", 1, `"${count}"`, count);
    expect(await callsOf(session)).toEqual([{ key: "a", from: 3 }]);
  });

  it("is shown a result that nobody saw, however old, and one that was sent less than a minute ago", async () => {
    const session = freshSession();
    for (const key of ["never", "now", "before"]) {
      await session.ask(askOf(key, []), later());
      await session.append(key, 1, '"progress"', 1);
      if (key !== "never") await viewerOf(session, key);
      await session.finish(key, 1, '"result"');
    }
    await sql(session, `UPDATE calls SET finished_at = finished_at - ${9 * MINUTE} WHERE key = 'never'`);
    await sql(session, `UPDATE calls SET result_sent_at = result_sent_at - ${MINUTE + 1} WHERE key = 'before'`);
    expect(await callsOf(session)).toEqual([
      { key: "before", from: 2 },
      { key: "never", from: 1 },
      { key: "now", from: 1 },
    ]);
  });

  it("is not asked a question again whose call was cancelled", async () => {
    const session = freshSession();
    await session.ask(askOf("a", [questionOf("q")], { call: newCall("a", { request: "1" }) }), later());
    await session.cancel("1", later());
    expect(await callsOf(session)).toEqual([{ key: "a", from: 1 }]);
  });
});

describe("what was agreed", () => {
  it("is known to the next holder, across an eviction", async () => {
    const session = freshSession();
    expect(await session.sseState()).toEqual({ negotiation: null, calls: [] });
    await session.saveNegotiation(AGREED, later());
    await evictDurableObject(session);
    expect((await session.sseState()).negotiation).toBe(AGREED);
  });

  it("ends, when it is agreed anew, what an earlier client of the same name had begun", async () => {
    const session = freshSession();
    await session.saveNegotiation(AGREED, later());
    await session.ask(askOf("open", [questionOf("q")], { call: newCall("open", { request: "3" }) }), later());
    await session.ask(askOf("over", []), later());
    await session.finish("over", 1, '"result"');
    const [viewer, runner] = [await viewerOf(session, "open", 1), await runnerOf(session, "open", "3")];
    await session.saveNegotiation('{"revision":"2025-03-26"}', later());
    expect([await viewer.next(), await runner.next()]).toEqual([{ over: true }, { cancel: true }]);
    expect(await session.sseState()).toEqual({ negotiation: '{"revision":"2025-03-26"}', calls: [] });
    expect(await session.answer("q", "{}")).toBe("unknown");
    for (const table of ["calls", "events", "questions", "cancelled_requests"]) {
      expect(await rowsIn(session, `SELECT 1 FROM ${table}`)).toEqual([]);
    }
  });
});
