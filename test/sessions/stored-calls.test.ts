// A session's stored calls: what is said by them and asked in them is told once and in order, whoever runs them, and each
// comes to one end.

import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { beforeAll, describe, expect, it } from "vitest";
import { CLOSE } from "../../src/streams/socket-messages.ts";
import { attachmentOf } from "../../src/sessions/session-sockets.ts";
import type { SessionObject } from "../../src/sessions/session-object.ts";
import { openSessionSocket, type SessionStub } from "../../src/sessions/session-stub.ts";
import { policyStore } from "../../src/tenants/object/policy-store.ts";
import { createRpcClient } from "../../src/tenants/object/store.ts";
import { anyTenant } from "../support/workerd/tenant.ts";
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
} from "../support/workerd/session.ts";

const OVER = { over: true };
const eventOf = (seq: number, part: string) => ({ seq, part, last: true });
const refusalTo = (session: SessionStub, call: string, after: number) =>
  openSessionSocket(session, { as: "viewer", call }, after);

describe("a stored call", () => {
  it("shows what its run says, in order, and its result last", async () => {
    const session = freshSession();
    await session.ask(askOf("a", []), later());
    const viewer = await viewerOf(session, "a");
    expect(await session.append("a", 1, '"one"', 1)).toBe(true);
    expect(await session.append("a", 1, '"two"', 2)).toBe(true);
    expect(await session.finish("a", 1, '"result"')).toBe(true);
    const seen = await viewer.until((message) => "over" in message);
    expect(seen).toEqual([eventOf(1, '"one"'), eventOf(2, '"two"'), eventOf(3, '"result"'), OVER]);
  });

  it("says nothing after its end", async () => {
    const session = freshSession();
    await session.ask(askOf("a", []), later());
    await session.finish("a", 1, '"result"');
    expect(await session.append("a", 1, '"late"', 1)).toBe(false);
    expect(await session.finish("a", 1, '"another"')).toBe(false);
    expect(await session.take("a", 1)).toBeUndefined();
    expect((await session.ask(askOf("a", [questionOf("q")]), later())).state).toBe("stale");
    const viewer = await viewerOf(session, "a");
    expect(await viewer.until((message) => "over" in message)).toEqual([eventOf(1, '"result"'), OVER]);
  });

  it("may end without a word", async () => {
    const session = freshSession();
    await session.ask(askOf("a", []), later());
    const viewer = await viewerOf(session, "a");
    await session.finish("a", 1, null);
    expect(await viewer.next()).toEqual(OVER);
  });

  it("is caught up with from any place in its log", async () => {
    const session = freshSession();
    await session.ask(askOf("a", []), later());
    for (const count of [1, 2, 3]) await session.append("a", 1, `"${count}"`, count);
    const viewer = await viewerOf(session, "a", 2);
    await session.append("a", 1, '"4"', 4);
    expect([await viewer.next(), await viewer.next()]).toEqual([eventOf(3, '"3"'), eventOf(4, '"4"')]);
  });

  it("is refused to a viewer that has seen all, to one that claims to have seen more, and where there is none", async () => {
    const session = freshSession();
    await session.ask(askOf("a", []), later());
    await session.finish("a", 1, '"result"');
    expect(await refusalTo(session, "a", 1)).toEqual({ refused: 410 });
    expect(await refusalTo(session, "a", 2)).toEqual({ refused: 404 });
    expect(await refusalTo(session, "b", 0)).toEqual({ refused: 404 });
    expect(await refusalTo(freshSession(), "a", 0)).toEqual({ refused: 404 });
  });

  it("lets a viewer wait that has seen all of a call that goes on", async () => {
    const session = freshSession();
    await session.ask(askOf("a", []), later());
    await session.append("a", 1, '"one"', 1);
    const viewer = await viewerOf(session, "a", 1);
    await session.finish("a", 1, '"result"');
    expect(await viewer.next()).toEqual(eventOf(2, '"result"'));
  });

  it("is shown by its newest viewer alone, and another call's viewer stays", async () => {
    const session = freshSession();
    await session.ask(askOf("a", []), later());
    await session.ask(askOf("b", []), later());
    const [older, other] = [await viewerOf(session, "a"), await viewerOf(session, "b")];
    const newer = await viewerOf(session, "a");
    expect(await older.ended).toBe(4000);
    await session.append("a", 1, '"a"', 1);
    await session.append("b", 1, '"b"', 1);
    expect([await newer.next(), await other.next()]).toEqual([eventOf(1, '"a"'), eventOf(1, '"b"')]);
  });

  it("shows a text longer than one part whole, even where the cut falls into a character", async () => {
    const session = freshSession();
    const long = `"${"a".repeat(399_998)}😀${"é".repeat(500_000)}"`;
    await session.ask(askOf("a", []), later());
    await session.finish("a", 1, long);
    const seen = await (await viewerOf(session, "a")).until((message) => "over" in message);
    const parts = seen.flatMap((message) => ("part" in message ? [message] : []));
    expect(parts.map(({ last }) => last)).toEqual([false, false, true]);
    expect(parts.map(({ part }) => part).join("") === long).toBe(true);
  });

  it("keeps a record longer than one part, with what its run has said before it was stored", async () => {
    const session = freshSession();
    const record = recordOf({ principal: "é".repeat(900_000) });
    await session.ask(askOf("a", [], { call: newCall("a", { record, notificationCount: 2 }) }), later());
    expect((await session.take("a", 1))?.record === record).toBe(true);
    await session.append("a", 1, '"said before"', 2);
    await session.append("a", 1, '"new"', 3);
    expect(await (await viewerOf(session, "a")).next()).toEqual(eventOf(1, '"new"'));
  });

  it("tells a thing once that its run said twice, not knowing whether it was heard", async () => {
    const session = freshSession();
    await session.ask(askOf("a", []), later());
    const viewer = await viewerOf(session, "a");
    await session.append("a", 1, '"one"', 1);
    expect(await session.append("a", 1, '"one"', 1)).toBe(true);
    await session.append("a", 1, '"two"', 2);
    expect([await viewer.next(), await viewer.next()]).toEqual([eventOf(1, '"one"'), eventOf(2, '"two"')]);
  });

  it("outlives an eviction, and its viewers and runners go on where they were", async () => {
    for (const webSockets of ["close", "hibernate"] as const) {
      const session = freshSession();
      await session.ask(askOf("a", [questionOf("q")]), later());
      const before = [await viewerOf(session, "a"), await runnerOf(session, "a")] as const;
      expect(await before[0].next()).toEqual(eventOf(1, '{"question":"q"}'));
      await evictDurableObject(session, { webSockets });
      if (webSockets === "close") expect(await Promise.all(before.map(({ ended }) => ended))).toEqual([1006, 1006]);
      const [viewer, runner] =
        webSockets === "hibernate" ? before : [await viewerOf(session, "a", 1), await runnerOf(session, "a")];
      expect(await session.answer("q", '{"result":{}}')).toBe("taken");
      expect(await runner.next()).toEqual({ answered: true });
      await session.finish("a", 1, '"result"');
      expect(await viewer.next()).toEqual(eventOf(2, '"result"'));
    }
  });
});

describe("a question", () => {
  it("is put once though its run asks again, and so does a newer one", async () => {
    const session = freshSession();
    const first = await session.ask(askOf("a", [questionOf("q1", { digest: "d" })]), later());
    expect(first).toEqual({ state: "stored", known: [{ digest: "d", id: "q1", answer: null }] });
    const viewer = await viewerOf(session, "a");
    await session.ask(askOf("a", [questionOf("q1", { digest: "d" })]), later());
    // Nobody runs it when the answer comes: the object has it run, which is the second attempt.
    expect(await session.answer("q1", '{"result":{"n":1}}')).toBe("taken");
    const again = questionOf("q2", { name: "q1", digest: "d" });
    const stale = await session.ask(askOf("a", [questionOf("q3")]), later());
    expect(stale).toEqual({ state: "stale" });
    const newer = await session.ask(askOf("a", [again], { call: null, attempt: 2 }), later());
    expect(newer).toEqual({ state: "stored", known: [{ digest: "d", id: "q1", answer: '{"result":{"n":1}}' }] });
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
  let record = "";
  beforeAll(async () => {
    const created = await createRpcClient(anyTenant(about.tenant), policyStore).tenantUid(true);
    record = recordOf({
      ...about,
      created: created ?? "",
      session: { unofficial: false, capabilities, nonce: "nonce", expires: 4_102_444_800_000 },
      call: { ...call, params: { name: "test_elicitation", arguments: { message: "Who?" } } },
    });
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

  it("does not wait for a person where it was started: the answer starts another", async () => {
    const session = freshSession();
    await session.start(newCall("a", { record, request: "7" }), later());
    const viewer = await viewerOf(session, "a");
    const asked = await viewer.next();
    const { id } = JSON.parse("part" in asked ? asked.part : "") as { id: string };
    const running = () =>
      runInDurableObject(
        session,
        async (_instance, ctx) => ctx.getWebSockets().filter((socket) => attachmentOf(socket).as === "runner").length,
      );
    await expect.poll(running, { timeout: 4000 }).toBe(0);
    const content = { username: "ada", email: "e" };
    expect(await session.answer(id, JSON.stringify({ result: { action: "accept", content } }))).toBe("taken");
    const seen = await viewer.until((message) => "over" in message);
    expect(seen).toMatchObject([{ seq: 2, part: expect.stringContaining("ada") }, OVER]);
    expect(await rowsIn(session, "SELECT attempt FROM calls")).toEqual([{ attempt: 2 }]);
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

  it("is not begun anew while the call waits for its client, or is run", async () => {
    const session = freshSession();
    await session.ask(askOf("waits", [questionOf("q")]), later());
    await session.ask(askOf("runs", []), later());
    await runnerOf(session, "runs");
    const parked = await runnerOf(session, "waits");
    parked.close(CLOSE.parked);
    await expect.poll(() => rowsIn(session, "SELECT key FROM calls WHERE parked = 1")).toEqual([{ key: "waits" }]);
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

  it("is given up when five were lost in a row, with the answer that was kept for it", async () => {
    const session = freshSession();
    await session.ask(askOf("a", []), later());
    await runInDurableObject(session, (_instance, { storage }) => {
      storage.sql.exec("UPDATE calls SET lost_runs = 4");
    });
    const viewer = await viewerOf(session, "a");
    await runDurableObjectAlarm(session);
    expect(await viewer.until((message) => "over" in message)).toEqual([eventOf(1, '{"fallback":true}'), OVER]);
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

  it("may be started by many answers: those are no losses", async () => {
    const session = freshSession();
    const questions = Array.from({ length: 8 }, (_, at) => questionOf(`q${at}`));
    await session.ask(askOf("a", questions), later());
    await runInDurableObject(session, (_instance, { storage }) => {
      storage.sql.exec("UPDATE calls SET attempt = 7, lost_runs = 4");
    });
    await session.answer("q0", "{}");
    expect(await rowsIn(session, "SELECT attempt, lost_runs FROM calls")).toEqual([{ attempt: 8, lost_runs: 0 }]);
  });

  it("is begun anew when it asked and was lost: nobody may be waiting there for the answer", async () => {
    const session = freshSession();
    await session.ask(askOf("a", [questionOf("q")]), later());
    const runner = await runnerOf(session, "a");
    const before = (await storedIn(session)).alarm;
    runner.close();
    await expect.poll(async () => (await storedIn(session)).alarm).toBeLessThan(before ?? 0);
    await runDurableObjectAlarm(session);
    expect(await rowsIn(session, "SELECT attempt FROM calls")).toEqual([{ attempt: 2 }]);
  });
});

it("a call that may not run twice ends with the answer that was kept when its run is lost", async () => {
  const session = freshSession();
  const call = newCall("a", { repeatable: false, fallback: '{"lost":"for good"}' });
  await session.ask(askOf("a", [questionOf("q-a-1.1")], { call }), later());
  expect(await session.answer("q-a-1.1", '{"result":{}}')).toBe("taken");
  await runDurableObjectAlarm(session);
  expect(await rowsIn(session, "SELECT repeatable, attempt FROM calls")).toEqual([{ repeatable: 0, attempt: 1 }]);
  const said = await rowsIn(session, "SELECT part FROM events WHERE seq > 0 ORDER BY seq");
  expect(said.at(-1)).toEqual({ part: '{"lost":"for good"}' });
});

describe("a cancellation", () => {
  it("reaches the run of its call, ends what is stored of it, and leaves other calls alone", async () => {
    const session = freshSession();
    await session.ask(askOf("a", [], { call: newCall("a", { request: "1" }) }), later());
    await session.ask(askOf("b", [], { call: newCall("b", { request: '"1"' }) }), later());
    const [viewer, a, b] = [
      await viewerOf(session, "a"),
      await runnerOf(session, "a", "1"),
      await runnerOf(session, "b", '"1"'),
    ];
    await session.cancel("1", later());
    expect([await a.next(), await viewer.next()]).toEqual([{ cancel: true }, OVER]);
    expect(await session.append("a", 1, '"late"', 1)).toBe(false);
    expect(await session.append("b", 1, '"on"', 1)).toBe(true);
    await session.cancel('"1"', later());
    expect(await b.next()).toEqual({ cancel: true });
  });

  it("that overtakes its call stops it before it is run, and only that one", async () => {
    const session = freshSession();
    await session.cancel('"request"', later());
    expect(await session.start(newCall("a"), later())).toBe(true);
    expect(await refusalTo(session, "a", 0)).toEqual({ refused: 410 });
    await session.start(newCall("b"), later());
    const seen = await (await viewerOf(session, "b")).until((message) => "over" in message);
    expect(seen).toHaveLength(2);
  });

  it("that overtakes a runner finds it when it comes, once", async () => {
    const session = freshSession();
    await session.cancel('"request"', later());
    expect(await (await runnerOf(session, "a")).next()).toEqual({ cancel: true });
    const second = await runnerOf(session, "b");
    await session.cancel('"request"', later());
    expect(await second.next()).toEqual({ cancel: true });
    expect(await rowsIn(session, "SELECT * FROM cancelled_requests")).toEqual([]);
  });

  it("finds a runner whose socket was lost when it came", async () => {
    const session = freshSession();
    await session.ask(askOf("a", []), later());
    const lost = await runnerOf(session, "a");
    await evictDurableObject(session, { webSockets: "close" });
    await lost.ended;
    await session.cancel('"request"', later());
    expect(await (await runnerOf(session, "a")).next()).toEqual({ cancel: true });
  });

  it("of nothing is remembered a thousand times at most", async () => {
    const session = freshSession();
    await within(session, async (instance) => {
      for (let request = 0; request <= 1001; request += 1) await instance.cancel(String(request), later());
    });
    expect(await rowsIn(session, "SELECT count(*) AS many FROM cancelled_requests")).toEqual([{ many: 1000 }]);
  });
});

it("a session takes a call that it is given twice for one: the answer to the first may have been lost", async () => {
  const session = freshSession();
  // Nobody's, so that its run ends at once.
  const call = {
    key: "0123456789abcdef",
    request: "1",
    record: recordOf(),
    fallback: "{}",
    notificationCount: 0,
    repeatable: true,
  };
  expect([await session.start(call, later()), await session.start(call, later())]).toEqual([true, true]);
});
