// A call while it runs: put into its session's object by its first question, answered from anywhere, and left to another
// run when whoever waits for it is gone.

import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import type { OutgoingRequest } from "../../src/protocol/mcp-request.ts";
import { CallRunner, newCallKey, requestKey } from "../../src/sessions/call-runner.ts";
import type { SessionStub } from "../../src/sessions/session-stub.ts";
import { askOf, freshSession, later, questionOf, recordOf, rowsIn, viewerOf } from "../support/workerd/session.ts";

const question = (name: string): OutgoingRequest => ({ name, digest: `digest of ${name}`, method: "roots/list" });
const answerTo = (name: string) => JSON.stringify({ result: { name } });

function running(session: SessionStub = freshSession()) {
  const happened: string[] = [];
  const state = { unchanged: true };
  const stored = Promise.withResolvers<void>();
  const cancelled = Promise.withResolvers<void>();
  const host = {
    sessionObject: () => session,
    expires: later(),
    request: '"request"',
    repeatable: true,
    describe: async () => ({ record: recordOf(), fallback: "{}", notificationCount: 2, repeatable: true }),
    onStored: (key: string) => {
      happened.push(`stored ${key}`);
      stored.resolve();
    },
    hasSameRights: async () => state.unchanged,
    onCancelled: () => {
      happened.push("cancelled");
      cancelled.resolve();
    },
  };
  const runner = new CallRunner(host, "a");
  /** Resolves when its questions are at the object. */
  const ask = async (...names: string[]) => {
    const answers = runner.request(names.map(question), {});
    await stored.promise;
    return { answers };
  };
  return { session, host, runner, state, ask, happened, cancelled: cancelled.promise };
}

/** Of the call, as its client sees it, without what numbers it. */
async function logOf(session: SessionStub): Promise<unknown[]> {
  const rows = await rowsIn(session, "SELECT part FROM events WHERE call = 'a' AND seq > 0 ORDER BY seq");
  return rows.map(({ part }) => JSON.parse(String(part)) as unknown);
}

describe("a question", () => {
  it("stores its call, is put on the stream, and its answer comes back from wherever it arrived", async () => {
    const { session, runner, ask, happened } = running();
    expect([runner.isStored, runner.nonce]).toEqual([false, undefined]);
    const { answers } = await ask("who");
    expect([runner.isStored, runner.nonce, happened]).toEqual([true, "a", ["stored a"]]);
    expect(await logOf(session)).toEqual([{ jsonrpc: "2.0", id: "q-a-1.1", method: "roots/list" }]);
    expect(await session.answer("q-a-1.1", answerTo("who"))).toBe("taken");
    expect(await answers).toEqual(new Map([["digest of who", { result: { name: "who" } }]]));
    runner.close();
  });

  it("among several is waited for with the others", async () => {
    const { session, runner, ask } = running();
    const { answers } = await ask("one", "two");
    await session.answer("q-a-1.2", answerTo("two"));
    await session.answer("q-a-1.1", answerTo("one"));
    expect([...((await answers)?.keys() ?? [])].length).toBe(2);
    runner.close();
  });

  it("of each part of a handler is answered by itself, and the call is stored once", async () => {
    const { session, runner, happened } = running();
    const [one, two] = [runner.request([question("one")], {}), runner.request([question("two")], {})];
    await expect.poll(async () => (await rowsIn(session, "SELECT id FROM questions").catch(() => [])).length).toBe(2);
    const ids = await rowsIn(session, "SELECT id, name FROM questions ORDER BY name");
    for (const { id, name } of ids.toReversed()) await session.answer(String(id), answerTo(String(name)));
    expect([await one, await two]).toEqual([
      new Map([["digest of one", { result: { name: "one" } }]]),
      new Map([["digest of two", { result: { name: "two" } }]]),
    ]);
    expect(happened).toEqual(["stored a"]);
    runner.close();
  });

  it("fails where its session has no room, and nothing of it is stored", async () => {
    const { session, runner, happened } = running();
    for (let at = 0; at < 50; at += 1) await session.ask(askOf(`c${at}`, []), later());
    await expect(runner.request([question("who")], {})).rejects.toThrow("too many calls");
    expect([runner.isStored, happened]).toEqual([false, []]);
    expect(await rowsIn(session, "SELECT 1 FROM calls WHERE key = 'a'")).toEqual([]);
    runner.close();
  });

  it("is still waited for when the object was moved meanwhile", async () => {
    for (const webSockets of ["hibernate", "close"] as const) {
      const { session, runner, ask, happened } = running();
      const { answers } = await ask("who");
      await evictDurableObject(session, { webSockets });
      const sockets = () => runInDurableObject(session, (_instance, ctx) => ctx.getWebSockets().length);
      await expect.poll(sockets).toBe(1);
      await session.answer("q-a-1.1", answerTo("who"));
      expect((await answers)?.size).toBe(1);
      expect(happened).toEqual(["stored a"]);
      runner.close();
    }
  });

  it("that is withdrawn is taken back on the stream, once, and one that was answered is not", async () => {
    const { session, runner, ask } = running();
    const { answers } = await ask("one");
    await session.answer("q-a-1.1", answerTo("one"));
    await answers;
    void runner.request([question("two")], {});
    const viewer = await viewerOf(session, "a", 1);
    await viewer.next();
    runner.cancel("too long");
    runner.cancel("too long");
    await runner.finish(null);
    expect((await logOf(session)).slice(2)).toEqual([
      { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "q-a-1.2", reason: "too long" } },
    ]);
  });
});

describe("what a stored call says", () => {
  it("is in its log in the order in which it was said, its result last, counted from what it said before", async () => {
    const { session, runner, ask } = running();
    const { answers } = await ask("who");
    await session.answer("q-a-1.1", answerTo("who"));
    await answers;
    for (const n of [1, 2, 3]) runner.append(JSON.stringify({ n }));
    await runner.finish('{"result":true}');
    expect((await logOf(session)).slice(1)).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }, { result: true }]);
    expect(await rowsIn(session, "SELECT notifications, finished_at IS NOT NULL AS finished FROM calls")).toEqual([
      { notifications: 5, finished: 1 },
    ]);
  });

  it("before a question is there before the question", async () => {
    const { session, runner, ask } = running();
    const { answers } = await ask("one");
    await session.answer("q-a-1.1", answerTo("one"));
    await answers;
    runner.append('{"n":1}');
    void runner.request([question("two")], {});
    const viewer = await viewerOf(session, "a", 1);
    expect([await viewer.next(), await viewer.next()]).toMatchObject([
      { part: '{"n":1}' },
      { part: expect.stringContaining("q-a-1.2") },
    ]);
    runner.close();
  });
});

describe("a run", () => {
  it("goes no further when its connection leaves while it waits: the answer finds another run", async () => {
    const { session, runner, ask, happened } = running();
    const { answers } = await ask("who");
    runner.onClientGone();
    expect(await answers).toBeUndefined();
    runner.append('"nobody hears this"');
    await runner.finish('"nor this"');
    expect(await logOf(session)).toHaveLength(1);
    const sockets = () => runInDurableObject(session, (_instance, ctx) => ctx.getWebSockets().length);
    await expect.poll(sockets).toBe(0);
    expect(await session.answer("q-a-1.1", answerTo("who"))).toBe("taken");
    expect(await rowsIn(session, "SELECT attempt FROM calls")).toEqual([{ attempt: 2 }]);
    expect(happened).toEqual(["stored a"]);
  });

  it("runs to its end when its connection leaves while it does not wait", async () => {
    const { session, runner, ask } = running();
    const { answers } = await ask("who");
    await session.answer("q-a-1.1", answerTo("who"));
    await answers;
    runner.onClientGone();
    await runner.finish('{"result":true}');
    expect((await logOf(session)).at(-1)).toEqual({ result: true });
  });

  it("is lost when its connection has been gone for too long: the object has another run bring the result", async () => {
    const { session, runner, ask } = running();
    const { answers } = await ask("who");
    await session.answer("q-a-1.1", answerTo("who"));
    await answers;
    runner.abandon();
    await runner.finish(null);
    expect(await rowsIn(session, "SELECT finished_at FROM calls")).toEqual([{ finished_at: null }]);
    await expect.poll(() => runDurableObjectAlarm(session)).toBe(true);
    await expect.poll(async () => rowsIn(session, "SELECT attempt FROM calls")).toEqual([{ attempt: 2 }]);
  });

  it("goes no further when the policy changed while it waited: the object has it admitted anew", async () => {
    const { session, runner, state, ask, happened } = running();
    const { answers } = await ask("who");
    state.unchanged = false;
    await session.answer("q-a-1.1", answerTo("who"));
    expect(await answers).toBeUndefined();
    await runner.finish('"with rights that there are no more"');
    // Of a tenant that is not there: the run that was started is refused.
    await expect.poll(async () => (await logOf(session)).at(-1)).toMatchObject({ error: {} });
    expect([await rowsIn(session, "SELECT attempt FROM calls"), happened]).toEqual([[{ attempt: 2 }], ["stored a"]]);
  });

  it("goes away when its result could not be stored, so that another one is started", async () => {
    const session = freshSession();
    const way = { isCut: false };
    const { host } = running(session);
    const runner = new CallRunner(
      {
        ...host,
        sessionObject: () => {
          if (way.isCut) throw new Error("the object cannot be reached");
          return session;
        },
      },
      "a",
    );
    const answers = runner.request([question("who")], {});
    await expect.poll(async () => (await rowsIn(session, "SELECT 1 FROM questions").catch(() => [])).length).toBe(1);
    await session.answer("q-a-1.1", answerTo("who"));
    await answers;
    way.isCut = true;
    await expect(runner.finish('{"result":true}')).rejects.toThrow("cannot be reached");
    const sockets = () => runInDurableObject(session, (_instance, ctx) => ctx.getWebSockets().length);
    await expect.poll(sockets).toBe(0);
    await runDurableObjectAlarm(session);
    expect(await rowsIn(session, "SELECT attempt FROM calls")).toEqual([{ attempt: 2 }]);
  });

  it("says nothing more once a newer one runs the call, and is told so", async () => {
    const { session, runner, ask, happened, cancelled } = running();
    const { answers } = await ask("who");
    await session.answer("q-a-1.1", answerTo("who"));
    await answers;
    await runInDurableObject(session, (_instance, { storage }) => {
      storage.sql.exec("UPDATE calls SET attempt = 2");
    });
    runner.append('"stale"');
    await cancelled;
    await runner.finish('"stale too"');
    expect(await logOf(session)).toHaveLength(1);
    expect(happened).toEqual(["stored a", "cancelled"]);
  });

  it("gets no answer once a newer one runs the call", async () => {
    const { session, runner, ask } = running();
    await ask("one");
    await runInDurableObject(session, (_instance, { storage }) => {
      storage.sql.exec("UPDATE calls SET attempt = 2");
    });
    expect(await runner.request([question("two")], {})).toBeUndefined();
    expect(await logOf(session)).toHaveLength(1);
    runner.close();
  });
});

describe("a cancellation", () => {
  it("reaches a call that waits, and one that is not stored but watched", async () => {
    const waiting = running();
    const { answers } = await waiting.ask("who");
    await waiting.session.cancel('"request"', later());
    expect(await answers).toBeUndefined();
    expect(waiting.happened).toEqual(["stored a", "cancelled"]);
    const watched = running();
    await watched.runner.watch();
    await watched.session.cancel('"request"', later());
    await watched.cancelled;
    expect(watched.happened).toEqual(["cancelled"]);
  });

  it("that came first reaches a call when it is watched", async () => {
    const { session, runner, cancelled } = running();
    await session.cancel('"request"', later());
    await runner.watch();
    await cancelled;
    runner.close();
  });

  it("comes with the end of the session", async () => {
    const { session, ask, cancelled } = running();
    const { answers } = await ask("who");
    await session.end();
    await cancelled;
    expect(await answers).toBeUndefined();
  });
});

it("a call whose session was away when it began to be watched can ask its client later", async () => {
  const { session, host } = running();
  let isAway = true;
  const away = { fetch: () => Promise.reject(new Error("the object was reset")) } as unknown as SessionStub;
  const runner = new CallRunner({ ...host, sessionObject: () => (isAway ? away : session) }, "a");
  await expect(runner.watch()).rejects.toThrow("reset");
  isAway = false;
  const answers = runner.request([question("who")], {});
  await expect.poll(async () => (await rowsIn(session, "SELECT id FROM questions").catch(() => [])).length).toBe(1);
  await session.answer("q-a-1.1", answerTo("who"));
  expect(await answers).toEqual(new Map([["digest of who", { result: { name: "who" } }]]));
  runner.close();
});

describe("a run that goes on where an earlier one was lost", () => {
  it("has what that kept and was answered, and puts no question again", async () => {
    const { session, host } = running();
    await session.ask(
      askOf("a", [questionOf("q-a-1.1", { name: "who", digest: "digest of who" })], { memos: '{"memo m":1}' }),
      later(),
    );
    await session.ask(
      askOf("a", [questionOf("q-a-1.2", { name: "where", digest: "digest of where" })], { memos: '{"memo m":1}' }),
      later(),
    );
    await runInDurableObject(session, (_instance, { storage }) => {
      storage.sql.exec("UPDATE calls SET attempt = 2");
      storage.sql.exec("UPDATE questions SET answer = ? WHERE name = 'who'", answerTo("who"));
    });
    const stored = await session.take("a", 2);
    if (!stored) throw new Error("it was not wanted");
    const runner = CallRunner.resume(host, { key: "a", attempt: 2, stored });
    expect([runner.isStored, runner.nonce, runner.memos]).toEqual([true, "a", { "memo m": 1 }]);
    expect((await runner.request([question("who")], {}))?.get("digest of who")).toEqual({ result: { name: "who" } });
    const where = runner.request([question("where")], {});
    // It has a socket by now: the first question was asked over it.
    await session.answer("q-a-1.2", answerTo("where"));
    expect((await where)?.size).toBe(1);
    await runner.finish('{"result":true}');
    expect(await logOf(session)).toEqual([{ question: "q-a-1.1" }, { question: "q-a-1.2" }, { result: true }]);
  });
});

it("ids that begin alike and are as long are still told apart", () => {
  const ids = ["a", "b"].map((middle) => `${"x".repeat(300)}${middle}${"y".repeat(300)}`);
  expect(new Set(ids.map(requestKey)).size).toBe(2);
  expect(requestKey(7)).toBe("7");
});

it("a call's key is short, and its own", () => {
  const keys = Array.from({ length: 100 }, newCallKey);
  expect(new Set(keys).size).toBe(100);
  for (const key of keys) expect(key).toMatch(/^[0-9a-f]{16}$/);
});
