// The far end of an object's socket for tests inside the Worker: one message after the other, awaited as they come, and
// how it ended.

import type { OpenedSocket } from "../../../src/streams/reconnecting-web-socket.ts";

export interface Listening<Message> {
  /** The next message; throws when the socket ends before it. */
  next(): Promise<Message>;
  /** What came before the first message that fits, and that one. */
  until(fits: (message: Message) => boolean): Promise<Message[]>;
  /** The code with which the object ended it. */
  readonly ended: Promise<number>;
  send(text: string): void;
  close(code?: number): void;
}

export async function listening<Message>(opening: Promise<OpenedSocket>): Promise<Listening<Message>> {
  const opened = await opening;
  if ("refused" in opened) throw new Error(`refused with ${opened.refused}`);
  const { socket } = opened;
  const come: Message[] = [];
  const state = { isOver: false, wake: () => {} };
  const ended = new Promise<number>((resolve) => {
    socket.addEventListener("close", ({ code }) => {
      state.isOver = true;
      resolve(code);
      state.wake();
    });
  });
  socket.addEventListener("message", ({ data }) => {
    come.push(JSON.parse(data as string) as Message);
    state.wake();
  });
  socket.accept();
  const next = async (): Promise<Message> => {
    while (come.length === 0 && !state.isOver) {
      await new Promise<void>((resolve) => {
        state.wake = resolve;
      });
    }
    const message = come.shift();
    if (message === undefined) throw new Error("the socket ended");
    return message;
  };
  return {
    next,
    until: async (fits) => {
      const seen: Message[] = [];
      do seen.push(await next());
      while (!fits(seen.at(-1) as Message));
      return seen;
    },
    ended,
    send: (text) => {
      socket.send(text);
    },
    close: (code = 1000) => {
      socket.close(code);
    },
  };
}
