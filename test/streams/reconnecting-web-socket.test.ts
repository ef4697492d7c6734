// A socket that is meant to stay: opened again after an accident, and over when its object says so, or its holder.

import { describe, expect, it } from "vitest";
import { ReconnectingWebSocket, type OpenedSocket } from "../../src/streams/reconnecting-web-socket.ts";
import { listening, type Listening } from "../support/workerd/sockets.ts";

/** The object's side: each opening is answered as the test says, with a socket unless it says otherwise. */
function held(...answers: (OpenedSocket | Error)[]) {
  const messages: unknown[] = [];
  const happened: (string | number)[] = [];
  const fars: { readonly socket: WebSocket; readonly messages: Listening<unknown> }[] = [];
  let wake = () => {};
  const changed = () => {
    wake();
  };
  const socket = new ReconnectingWebSocket(
    async () => {
      happened.push("open");
      const answer = answers.shift();
      if (answer instanceof Error) throw answer;
      if (answer) return answer;
      const { 0: near, 1: far } = new WebSocketPair();
      fars.push({ socket: far, messages: await listening(Promise.resolve({ socket: far })) });
      return { socket: near };
    },
    {
      onMessage: (message) => {
        messages.push(message);
        changed();
      },
      onReconnect: () => {
        happened.push("reopened");
        changed();
      },
      onEnd: (code) => {
        happened.push(code);
        changed();
      },
    },
  );
  const until = async (fits: () => boolean) => {
    while (!fits()) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  return { socket, messages, happened, fars, until };
}

describe("a held socket", () => {
  it("hands on what comes, in order", async () => {
    const { socket, messages, fars, until } = held();
    expect(await socket.start()).toBeUndefined();
    for (const n of [1, 2, 3]) fars[0]?.socket.send(JSON.stringify({ n }));
    await until(() => messages.length === 3);
    expect(messages).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
  });

  it.each([undefined, 1000, 1011, 3999])("that was lost with %s is opened again, and goes on", async (code) => {
    const { socket, messages, happened, fars, until } = held();
    await socket.start();
    fars[0]?.socket.close(code);
    await until(() => happened.includes("reopened"));
    fars[1]?.socket.send('"on"');
    await until(() => messages.length === 1);
    expect([happened, messages]).toEqual([["open", "open", "reopened"], ["on"]]);
  });

  it.each([4000, 4001, 4002])("is over when its object says so with %d", async (code) => {
    const { socket, happened, fars, until } = held();
    await socket.start();
    fars[0]?.socket.close(code);
    await until(() => happened.includes(code));
    expect(happened).toEqual(["open", code]);
  });

  it("is refused at its beginning with the status that the object gave, and then left alone", async () => {
    const { socket, happened } = held({ refused: 503 });
    expect(await socket.start()).toBe(503);
    expect(happened).toEqual(["open"]);
  });

  it("fails at its beginning when the object cannot be reached", async () => {
    await expect(held(new Error("Network connection lost.")).socket.start()).rejects.toThrow("lost");
  });

  it("is opened until it stands while the object is away or has no room", async () => {
    const { 0: near, 1: far } = new WebSocketPair();
    far.accept();
    const { socket, happened, until } = held({ socket: near }, new Error("Network connection lost."), { refused: 503 });
    await socket.start();
    far.close(1011);
    await until(() => happened.includes("reopened"));
    expect(happened).toEqual(["open", "open", "open", "open", "reopened"]);
  });

  it("is over when it is refused for good while it is opened again", async () => {
    const sockets = new WebSocketPair();
    sockets[1].accept();
    const { socket, happened, until } = held({ socket: sockets[0] }, new Error("away"), { refused: 410 });
    await socket.start();
    sockets[1].close(1011);
    await until(() => happened.includes(4410));
    expect(happened).toEqual(["open", "open", "open", 4410]);
  });
});

describe("closed by its holder, a socket", () => {
  it("is closed at the object too, and nothing is heard or opened any more", async () => {
    const { socket, messages, happened, fars } = held();
    await socket.start();
    fars[0]?.socket.send('"on its way"');
    socket.close();
    expect(await fars[0]?.messages.ended).toBe(1000);
    expect([messages, happened]).toEqual([[], ["open"]]);
  });

  it("is closed as soon as it is open, when it was being opened", async () => {
    const { socket, happened, fars } = held();
    const starting = socket.start();
    socket.close();
    await starting;
    expect(await fars[0]?.messages.ended).toBe(1000);
    expect(happened).toEqual(["open"]);
  });

  it("does not come back after an accident", async () => {
    const opening = Promise.withResolvers<OpenedSocket>();
    const happened: string[] = [];
    const sockets = [new WebSocketPair(), new WebSocketPair()] as const;
    for (const { 1: far } of sockets) far.accept();
    const reopening = Promise.withResolvers<void>();
    const socket: ReconnectingWebSocket = new ReconnectingWebSocket(
      async () => {
        happened.push("open");
        if (happened.length === 1) return { socket: sockets[0][0] };
        reopening.resolve();
        return opening.promise;
      },
      { onMessage: () => {}, onReconnect: () => happened.push("reopened"), onEnd: () => happened.push("ended") },
    );
    await socket.start();
    sockets[0][1].close(1011);
    await reopening.promise;
    socket.close();
    const late = new Promise<number>((resolve) => {
      sockets[1][1].addEventListener("close", ({ code }) => {
        resolve(code);
      });
    });
    opening.resolve({ socket: sockets[1][0] });
    expect(await late).toBe(1000);
    expect(happened).toEqual(["open", "open"]);
  });
});
