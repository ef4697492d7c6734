// A 2025 session's memory: it comes with the first thing to remember and goes with the session, wholly.

import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { openSessionSocket, type SessionStub } from "../../src/streams/session-door.ts";
import {
  askOf,
  freshSession,
  later,
  newCall,
  NOTHING,
  questionOf,
  recordOf,
  rowsIn,
  runnerOf,
  storedIn,
  viewerOf,
  within,
} from "../support/worker/session.ts";

/** Its time is over: then its alarm rings. */
async function expire(session: SessionStub): Promise<void> {
  await runInDurableObject(session, (_instance, { storage }) => {
    storage.kv.put("expires", Date.now());
  });
}

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
  expect(await storedIn(session)).toEqual(NOTHING);
});

it("deletes everything at its alarm", async () => {
  const session = freshSession();
  await session.setLogLevel("info", later());
  await expire(session);
  expect(await runDurableObjectAlarm(session)).toBe(true);
  expect(await storedIn(session)).toEqual(NOTHING);
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

  it("says nothing after its end, whoever tries", async () => {
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
    await session.ask(askOf("a", [], { call: newCall("a", { record, said: 2 }) }), later());
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

  it("outlives an eviction, and whoever holds sockets goes on where it was", async () => {
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

describe("a cancellation", () => {
  it("reaches who runs the call, ends what is stored of it, and leaves other calls alone", async () => {
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
    expect(await rowsIn(session, "SELECT * FROM cancelled")).toEqual([]);
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
    expect(await rowsIn(session, "SELECT count(*) AS many FROM cancelled")).toEqual([{ many: 1000 }]);
  });
});

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

it("takes a call that it is given twice for one: whoever gave it may not have heard that it has it", async () => {
  const session = freshSession();
  // Nobody's, so that its run ends at once.
  const record = JSON.stringify({ tenant: "nobody", profile: null, keyHash: null, call: { id: 1 } });
  const call = { key: "0123456789abcdef", request: "1", record, fallback: "{}", said: 0 };
  expect([await session.start(call, later()), await session.start(call, later())]).toEqual([true, true]);
});
