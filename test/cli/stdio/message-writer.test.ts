// The bridge's stdout: one message a line, no faster than the client reads.

import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { MessageWriter } from "../../../src/cli/stdio/message-writer.ts";

test("nothing more is written until a full stdout is drained", async () => {
  const written: string[] = [];
  const drain = new EventEmitter();
  const write = (chunk: string) => written.push(chunk) !== 1;
  const outbox = new MessageWriter(
    { write, drained: (listener) => void drain.once("drain", listener) },
    new AbortController().signal,
  );
  const first = outbox.write("1");
  const second = outbox.write("2");
  await Promise.resolve();
  expect(written).toEqual(["1\n"]);
  drain.emit("drain");
  await Promise.all([first, second]);
  expect(written).toEqual(["1\n", "2\n"]);
  expect(drain.listenerCount("drain")).toBe(0);
});
