// The bounds of a session's stored calls: what is refused, what is dropped without a word, and what is kept whatever it
// weighs.

import { runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import {
  askOf,
  freshSession,
  later,
  newCall,
  questionOf,
  rowsIn,
  runnerOf,
  viewerOf,
  within,
} from "../support/workerd/session.ts";

const OVER = { over: true };
const eventOf = (seq: number, part: string) => ({ seq, part, last: true });

describe("a session has room", () => {
  const full = { state: "full" };
  const many = (count: number) => Array.from({ length: count }, (_, at) => questionOf(`q${at}`));

  it("for fifty calls, and for more when those that are over can be caught up with no more", async () => {
    const session = freshSession();
    for (let at = 0; at < 50; at += 1) await session.ask(askOf(`c${at}`, []), later());
    expect(await session.ask(askOf("more", [questionOf("q")]), later())).toEqual(full);
    expect(await session.start(newCall("more"), later())).toBe(false);
    expect(await session.ask(askOf("c7", [questionOf("q7")]), later())).toMatchObject({ state: "stored" });
    await session.finish("c7", 1, '"result"');
    await runInDurableObject(session, (_instance, { storage }) => {
      storage.sql.exec("UPDATE calls SET finished_at = 1 WHERE key = 'c7'");
    });
    await session.finish("c8", 1, '"result"');
    expect(await session.ask(askOf("more", []), later())).toMatchObject({ state: "stored" });
    expect(await rowsIn(session, "SELECT 1 FROM questions WHERE call = 'c7'")).toEqual([]);
    expect(await rowsIn(session, "SELECT 1 FROM events WHERE call = 'c7'")).toEqual([]);
  });

  it("for a hundred questions of one call, each of which can be answered", async () => {
    const session = freshSession();
    const answersOf = async (count: number) => session.ask(askOf("a", many(count)), later());
    await answersOf(99);
    await answersOf(100);
    await runnerOf(session, "a");
    await session.answer("q99", '"answer"');
    const again = await answersOf(100);
    expect(again.state === "stored" && again.known.find(({ id }) => id === "q99")?.answer).toBe('"answer"');
    expect(await session.ask(askOf("a", [questionOf("one more")]), later())).toEqual(full);
    expect(await session.ask(askOf("b", [questionOf("another call's")]), later())).toMatchObject({ state: "stored" });
  });

  it("for no call whose first questions are too many: nothing of it stays that would be run again", async () => {
    const session = freshSession();
    expect(await session.ask(askOf("a", many(101)), later())).toEqual(full);
    expect(await rowsIn(session, "SELECT key FROM calls")).toEqual([]);
    expect(await rowsIn(session, "SELECT id FROM questions")).toEqual([]);
  });

  it("for two thousand events of one call: more are dropped without a word, its questions and its result are not", async () => {
    const session = freshSession();
    await session.ask(askOf("a", []), later());
    await within(session, async (instance) => {
      for (let count = 1; count <= 2001; count += 1) await instance.append("a", 1, "{}", count);
    });
    await session.ask(askOf("a", [questionOf("q")]), later());
    await session.finish("a", 1, '"result"');
    const seen = await (await viewerOf(session, "a", 1999)).until((message) => "over" in message);
    expect(seen).toEqual([eventOf(2000, "{}"), eventOf(2001, '{"question":"q"}'), eventOf(2002, '"result"'), OVER]);
  });

  it("for four million characters of one call's events, and for its result whatever it weighs", async () => {
    const session = freshSession();
    await session.ask(askOf("a", []), later());
    const big = JSON.stringify("x".repeat(1_900_000));
    for (const count of [1, 2, 3]) expect(await session.append("a", 1, big, count)).toBe(true);
    await session.append("a", 1, '"small"', 4);
    await session.finish("a", 1, big);
    const seen = await (await viewerOf(session, "a")).until((message) => "over" in message);
    const lengths = new Map<number, number>();
    for (const event of seen) {
      if ("seq" in event) lengths.set(event.seq, (lengths.get(event.seq) ?? 0) + event.part.length);
    }
    expect([...lengths]).toEqual([
      [1, big.length],
      [2, big.length],
      [3, '"small"'.length],
      [4, big.length],
    ]);
  });
});
