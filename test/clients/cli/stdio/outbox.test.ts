// The parts of the bridge that can be looked at alone: event streams cut anywhere, a slow reader, growing pauses.

import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { Backoff } from "../../../../src/clients/cli/backoff.ts";
import { readSse, type SseCursor } from "../../../../src/clients/cli/sse.ts";
import { Outbox } from "../../../../src/clients/cli/stdio/outbox.ts";

async function* cut(stream: string, size: number): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(stream);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

const STREAM = [
  ": comment\n\n",
  "data: grüß\ndata:  dich\n\n",
  "id: 1\r\nretry: 20\r\ndata: carriage\r\n\r\n",
  "data: return\r\r",
  "event: endpoint\ndata: not ours\n\n",
  "event: message\ndata\ndata: second line\n\n",
  "id: bad\0id\nretry: soon\ndata: x\n\n",
  "id: 2\ndata:\n\n",
  "data: never finished\n",
].join("");

test.each([1, 2, 3, 7, 1000])("an event stream is the same in pieces of %i bytes", async (size) => {
  const cursor: SseCursor = {};
  const data = await all(readSse(cut(STREAM, size), cursor));
  expect(data).toEqual(["grüß\n dich", "carriage", "return", "\nsecond line", "x"]);
  expect(cursor).toEqual({ lastEventId: "2", retryMs: 20 });
});

test("a line of 10 MB in small pieces is one event", async () => {
  const [data] = await all(readSse(cut(`data: ${"x".repeat(10_000_000)}\n\n`, 16_384)));
  expect(data).toHaveLength(10_000_000);
});

test("an event that would not end is refused, in one line and in many", async () => {
  async function* endless(line: string): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < 200; at += 1) yield Buffer.from(line);
  }
  const mebibyte = "x".repeat(1024 * 1024);
  for (const line of [mebibyte, `data: ${mebibyte}\n`]) {
    await expect(all(readSse(endless(line)))).rejects.toThrow("longer than");
  }
});

test("nothing more is written until a full stdout is drained", async () => {
  const written: string[] = [];
  const drain = new EventEmitter();
  const write = (chunk: string | Uint8Array) => written.push(chunk.toString()) !== 1;
  const outbox = new Outbox(
    { write, once: (event, listener) => drain.once(event, listener) },
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

test("pauses double from the second failure on, never shorter than asked, and begin anew", () => {
  const backoff = new Backoff();
  expect(Array.from({ length: 8 }, () => backoff.nextMs(undefined))).toEqual([
    1000, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000,
  ]);
  expect(backoff.nextMs(60_000)).toBe(60_000);
  backoff.reset();
  expect([5, 5, 5].map((asked) => backoff.nextMs(asked))).toEqual([5, 1000, 2000]);
});
