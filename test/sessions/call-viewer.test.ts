// Showing a call's log to one connection: every event once and whole, in order, whatever happens to the socket.

import { evictDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { CallViewer } from "../../src/sessions/call-viewer.ts";
import { openSessionSocket, type SessionStub } from "../../src/sessions/session-stub.ts";
import { askOf, freshSession, later } from "../support/workerd/session.ts";

/** A viewer of the session's call `a`, and what it shows, one after another. */
function viewing(session: SessionStub) {
  const shown: (string | number)[] = [];
  const connects: number[] = [];
  let wake = () => {};
  const show = (what: string) => {
    shown.push(what);
    wake();
  };
  const viewer = new CallViewer({
    connect: (after) => {
      connects.push(after);
      return openSessionSocket(session, { as: "viewer", call: "a" }, after);
    },
    onEvent: (seq, json) => {
      show(`${seq} ${json}`);
    },
    onEnd: () => {
      show("over");
    },
  });
  const next = async () => {
    while (shown.length === 0) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    return shown.shift();
  };
  return { viewer, connects, next, shown };
}

async function sessionWithCall(): Promise<SessionStub> {
  const session = freshSession();
  await session.ask(askOf("a", []), later());
  return session;
}

describe("a viewer", () => {
  it("shows what was said before it came and what is said then, and that it is over", async () => {
    const session = await sessionWithCall();
    await session.append("a", 1, '"one"', 1);
    const { viewer, next } = viewing(session);
    expect(await viewer.start(0)).toBeUndefined();
    expect(await next()).toBe('1 "one"');
    await session.append("a", 1, '"two"', 2);
    expect(await next()).toBe('2 "two"');
    await session.finish("a", 1, '"result"');
    expect([await next(), await next()]).toEqual(['3 "result"', "over"]);
  });

  it("begins where its client was", async () => {
    const session = await sessionWithCall();
    for (const count of [1, 2, 3]) await session.append("a", 1, `"${count}"`, count);
    const { viewer, next } = viewing(session);
    await viewer.start(2);
    expect(await next()).toBe('3 "3"');
  });

  it("is refused where there is nothing to show", async () => {
    const session = await sessionWithCall();
    expect(await viewing(session).viewer.start(7)).toBe(404);
    await session.append("a", 1, '"one"', 1);
    await session.finish("a", 1, null);
    expect(await viewing(session).viewer.start(1)).toBe(410);
  });

  it("misses nothing and shows nothing twice when its socket is lost again and again", async () => {
    const session = await sessionWithCall();
    const { viewer, next, connects } = viewing(session);
    await viewer.start(0);
    const seen: unknown[] = [];
    for (const count of [1, 2, 3]) {
      await session.append("a", 1, `"${count}"`, count);
      seen.push(await next());
      await evictDurableObject(session, { webSockets: "close" });
    }
    await session.finish("a", 1, '"result"');
    seen.push(await next(), await next());
    expect(seen).toEqual(['1 "1"', '2 "2"', '3 "3"', '4 "result"', "over"]);
    expect(connects[0]).toBe(0);
    expect(connects).toEqual(connects.toSorted((a, b) => a - b));
  });

  it("shows a long event once and whole though its socket is lost in the middle of it", async () => {
    const pairs = [new WebSocketPair(), new WebSocketPair()] as const;
    for (const { 1: far } of pairs) far.accept();
    const reopened = Promise.withResolvers<number>();
    const shown = Promise.withResolvers<string>();
    let opened = 0;
    const viewer = new CallViewer({
      connect: async (after) => {
        opened += 1;
        if (opened === 2) reopened.resolve(after);
        return { socket: pairs[opened - 1]?.[0] ?? new WebSocketPair()[0] };
      },
      onEvent: (seq, json) => {
        shown.resolve(`${seq} ${json}`);
      },
      onEnd: () => {},
    });
    await viewer.start(4);
    const say = (at: 0 | 1, part: string, last: boolean) => {
      pairs[at][1].send(JSON.stringify({ seq: 5, part, last }));
    };
    say(0, "lost ", false);
    pairs[0][1].close(1011);
    expect(await reopened.promise).toBe(4);
    say(1, "whole ", false);
    say(1, "event", true);
    expect(await shown.promise).toBe("5 whole event");
  });

  it("is over when another connection shows the call, or the session ends", async () => {
    const session = await sessionWithCall();
    const [first, second] = [viewing(session), viewing(session)];
    await first.viewer.start(0);
    await second.viewer.start(0);
    expect(await first.next()).toBe("over");
    await session.end();
    expect(await second.next()).toBe("over");
    expect([first.connects, second.connects]).toEqual([[0], [0]]);
  });

  it("is over when the call is over and seen to its end by the time its lost socket is back", async () => {
    const session = await sessionWithCall();
    const pair = new WebSocketPair();
    pair[1].accept();
    const over = Promise.withResolvers<string>();
    let connects = 0;
    const viewer = new CallViewer({
      connect: async (after) => {
        connects += 1;
        return connects === 1 ? { socket: pair[0] } : openSessionSocket(session, { as: "viewer", call: "a" }, after);
      },
      onEvent: () => {},
      onEnd: () => {
        over.resolve("over");
      },
    });
    await viewer.start(0);
    await session.append("a", 1, '"one"', 1);
    await session.finish("a", 1, null);
    pair[1].send(JSON.stringify({ seq: 1, part: '"one"', last: true }));
    pair[1].close(1011);
    expect(await over.promise).toBe("over");
    expect(connects).toBe(2);
  });

  it("shows nothing any more once it is closed", async () => {
    const session = await sessionWithCall();
    const [closed, other] = [viewing(session), viewing(session)];
    await closed.viewer.start(0);
    closed.viewer.close();
    await other.viewer.start(0);
    await session.finish("a", 1, '"result"');
    expect([await other.next(), await other.next()]).toEqual(['1 "result"', "over"]);
    expect(closed.shown).toEqual([]);
  });
});
