// What is asked of a stored call and who runs it: answers that come from anywhere, runs that were lost, and their end.

import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import type { SessionObject } from "../../src/streams/session-object.ts";
import {
  askOf,
  freshSession,
  later,
  newCall,
  questionOf,
  recordOf,
  rowsIn,
  runnerOf,
  storedIn,
  viewerOf,
  within,
} from "../support/worker/session.ts";

const OVER = { over: true };
const eventOf = (seq: number, part: string) => ({ seq, part, last: true });

describe("a question", () => {
  it("is put once though its run asks again, and so does a newer one", async () => {
    const session = freshSession();
    const first = await session.ask(askOf("a", [questionOf("q1", { digest: "d" })]), later());
    expect(first).toEqual({ state: "asked", known: [{ digest: "d", id: "q1", answer: null }] });
    const viewer = await viewerOf(session, "a");
    await session.ask(askOf("a", [questionOf("q1", { digest: "d" })]), later());
    // Nobody runs it when the answer comes: the object has it run, which is the second attempt.
    expect(await session.answer("q1", '{"result":{"n":1}}')).toBe("taken");
    const again = questionOf("q2", { name: "q1", digest: "d" });
    const stale = await session.ask(askOf("a", [questionOf("q3")]), later());
    expect(stale).toEqual({ state: "stale" });
    const newer = await session.ask(askOf("a", [again], { call: null, attempt: 2 }), later());
    expect(newer).toEqual({ state: "asked", known: [{ digest: "d", id: "q1", answer: '{"result":{"n":1}}' }] });
    await session.finish("a", 2, '"result"');
    const seen = await viewer.until((message) => "over" in message);
    expect(seen).toMatchObject([{ seq: 1, part: '{"question":"q1"}' }, { seq: 2 }, OVER]);
  });

  it("takes one answer: another is late, and one to nothing is to nothing", async () => {
    const session = freshSession();
    expect(await session.answer("q", "{}")).toBe("unknown");
    await session.ask(askOf("a", [questionOf("q"), questionOf("other")]), later());
    await runnerOf(session, "a");
    expect(await session.answer("nobody's", "{}")).toBe("unknown");
    expect(await session.answer("q", '"first"')).toBe("taken");
    expect(await session.answer("q", '"second"')).toBe("over");
    const asked = await session.ask(askOf("a", [questionOf("q")]), later());
    expect(asked).toMatchObject({ known: [{ id: "other" }, { id: "q", answer: '"first"' }] });
    await session.finish("a", 1, '"result"');
    expect(await session.answer("other", '"late"')).toBe("over");
  });

  it("may be answered with as much as a client may post, which is kept whole and goes with its call", async () => {
    const session = freshSession();
    await session.ask(askOf("a", [questionOf("q")]), later());
    await runnerOf(session, "a");
    const answer = JSON.stringify({ result: { picture: "é".repeat(2_000_000) } });
    expect(await session.answer("q", answer)).toBe("taken");
    const { known } = (await session.take("a", 1)) ?? {};
    expect(known?.map((one) => [one.id, one.answer === answer])).toEqual([["q", true]]);
    const longest = "SELECT max(length(answer)) < 500000 AND (SELECT max(length(part)) FROM events) < 500000 AS fits";
    expect(await rowsIn(session, `${longest} FROM questions`)).toEqual([{ fits: 1 }]);
    await session.finish("a", 1, "{}");
    await within(session, async (instance) => {
      for (let at = 0; at < 50; at += 1) await instance.ask(askOf(`other ${at}`, []), later());
    });
    expect(await rowsIn(session, "SELECT count(*) AS many FROM events WHERE seq > 0 OR call IN ('a', 'q')")).toEqual([
      { many: 0 },
    ]);
  });

  it("keeps what its run remembered, for the next one", async () => {
    const session = freshSession();
    await session.ask(askOf("a", [questionOf("q")], { memos: '{"memo m":1}' }), later());
    expect(await session.take("a", 1)).toEqual({
      record: recordOf(),
      memos: '{"memo m":1}',
      known: [{ digest: "digest of q", id: "q", answer: null }],
    });
    expect(await session.take("a", 2)).toBeUndefined();
  });

  it("is answered to a call that nobody runs, and the object runs it to its end", async () => {
    const session = freshSession();
    await session.ask(askOf("a", [questionOf("q")]), later());
    const viewer = await viewerOf(session, "a", 1);
    expect(await session.answer("q", "{}")).toBe("taken");
    const [refused] = await viewer.until((message) => "over" in message);
    expect(refused).toMatchObject({ seq: 2, part: expect.stringContaining('"error"') });
  });
});

describe("a run", () => {
  const { call, ...about } = { call: { id: 7, method: "tools/call" }, tenant: "conformance" };
  const capabilities = { elicitation: {} };
  const record = recordOf({
    ...about,
    session: { unofficial: false, capabilities, nonce: "nonce", expires: 4_102_444_800_000 },
    call: { ...call, params: { name: "test_elicitation", arguments: { message: "Who?" } } },
  });

  it("is started by the object, asks, hears the answer and brings the result", async () => {
    const session = freshSession();
    expect(await session.start(newCall("a", { record, request: "7" }), later())).toBe(true);
    const viewer = await viewerOf(session, "a");
    const asked = await viewer.next();
    const { id } = JSON.parse("part" in asked ? asked.part : "") as { id: string };
    await session.answer(
      id,
      JSON.stringify({ result: { action: "accept", content: { username: "ada", email: "e" } } }),
    );
    const seen = await viewer.until((message) => "over" in message);
    expect(seen).toMatchObject([{ seq: 2, part: expect.stringContaining("ada") }, OVER]);
  });

  it("begins anew after it was lost, from what is known, and says nothing twice", async () => {
    const session = freshSession();
    await session.ask(askOf("a", []), later());
    await session.append("a", 1, '"one"', 1);
    const runner = await runnerOf(session, "a");
    const before = (await storedIn(session)).alarm;
    runner.close();
    const viewer = await viewerOf(session, "a");
    await expect.poll(async () => (await storedIn(session)).alarm).toBeLessThan(before ?? 0);
    await runDurableObjectAlarm(session);
    expect(await session.append("a", 1, '"from the lost run"', 2)).toBe(false);
    expect(await session.finish("a", 1, '"from the lost run"')).toBe(false);
    const seen = await viewer.until((message) => "over" in message);
    expect(seen).toMatchObject([eventOf(1, '"one"'), { seq: 2, part: expect.stringContaining('"error"') }, OVER]);
  });

  it("is missed at once when its socket breaks", async () => {
    const session = freshSession();
    await session.ask(askOf("a", []), later());
    await runnerOf(session, "a");
    const alarm = await runInDurableObject<SessionObject, number | null>(session, async (instance, ctx) => {
      const [socket] = ctx.getWebSockets();
      if (!socket) throw new Error("there is a runner");
      socket.close(1011);
      await instance.webSocketError(socket);
      return ctx.storage.getAlarm();
    });
    expect(alarm).toBeLessThan(Date.now() + 60_000);
  });

  it("is not begun anew while the call waits for its client, or is run", async () => {
    const session = freshSession();
    await session.ask(askOf("waits", [questionOf("q")]), later());
    await session.ask(askOf("runs", []), later());
    await runnerOf(session, "runs");
    await evictDurableObject(session, { webSockets: "hibernate" });
    await runDurableObjectAlarm(session);
    expect(await rowsIn(session, "SELECT key, attempt FROM calls ORDER BY key")).toEqual([
      { key: "runs", attempt: 1 },
      { key: "waits", attempt: 1 },
    ]);
  });

  it("is looked after by a new instance that finds nobody running it, also when another call ends meanwhile", async () => {
    const session = freshSession();
    await session.ask(askOf("lost", []), later());
    await session.ask(askOf("runs", []), later());
    await runnerOf(session, "runs");
    await evictDurableObject(session, { webSockets: "hibernate" });
    await session.finish("runs", 1, '"result"');
    // Sooner than anything that the end of the other call asks for.
    expect((await storedIn(session)).alarm).toBeLessThan(Date.now() + 60_000);
    await runDurableObjectAlarm(session);
    expect(await rowsIn(session, "SELECT attempt FROM calls WHERE key = 'lost'")).toEqual([{ attempt: 2 }]);
  });

  it("is given up after five attempts, with the answer that was kept for it", async () => {
    const session = freshSession();
    await session.ask(askOf("a", []), later());
    await runInDurableObject(session, (_instance, { storage }) => {
      storage.sql.exec("UPDATE calls SET attempt = 5");
    });
    const viewer = await viewerOf(session, "a");
    await runDurableObjectAlarm(session);
    expect(await viewer.until((message) => "over" in message)).toEqual([eventOf(1, '{"fallback":true}'), OVER]);
  });

  it("is not given up because its client took its time over many questions: each answer has it run once more", async () => {
    const session = freshSession();
    await session.ask(askOf("a", [questionOf("q")]), later());
    await runInDurableObject(session, (_instance, { storage }) => {
      storage.sql.exec("UPDATE calls SET attempt = 5");
    });
    const viewer = await viewerOf(session, "a", 1);
    await session.answer("q", "{}");
    // Of the run that was started: there is no such tenant.
    expect(await viewer.next()).toMatchObject({ part: expect.stringContaining('"error"') });
  });
});
