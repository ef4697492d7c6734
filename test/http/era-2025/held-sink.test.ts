// Where a call's notifications and its answer go when its client holds one stream for all of them: there, or into the
// log of a call that is stored. https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse

import { expect, test, vi } from "vitest";
import { EventStream } from "../../../src/http/event-stream.ts";
import { HeldSink } from "../../../src/http/era-2025/held-sink.ts";
import type { Outlet } from "../../../src/http/call-sink.ts";

const ANSWER = '{"jsonrpc":"2.0","id":1,"result":{}}';

function held() {
  const events = new EventStream({ keepaliveMs: 20_000, ages: false, gone: () => {} });
  const sink = new HeldSink(events);
  /** Ends the stream; the data of its events. */
  const told = async () => {
    events.end();
    const text = await new Response(events.body).text();
    return text.split("\n").flatMap((line) => (line.startsWith("data: ") ? [line.slice(6)] : []));
  };
  return { events, sink, told };
}

function outlet() {
  return {
    append: vi.fn<Outlet["append"]>(),
    finish: vi.fn<Outlet["finish"]>(() => Promise.resolve()),
    abandon: vi.fn<Outlet["abandon"]>(),
  };
}

const progress = (n: number) => ({ progressToken: "p", progress: n });

test("what a call says comes before its answer, and the stream goes on for other calls", async () => {
  const { events, sink, told } = held();
  sink.notify("notifications/progress", progress(1));
  await sink.finish(ANSWER);
  expect([sink.said, events.closed]).toEqual([1, false]);
  const other = new HeldSink(events);
  await other.finish('"other"');
  expect((await told()).map((json) => JSON.parse(json) as unknown)).toEqual([
    { jsonrpc: "2.0", method: "notifications/progress", params: progress(1) },
    JSON.parse(ANSWER),
    "other",
  ]);
});

test("nothing is said of a call after its answer", async () => {
  const { sink, told } = held();
  await sink.finish(ANSWER);
  sink.notify("notifications/progress", progress(1));
  expect([await told(), sink.said]).toEqual([[ANSWER], 0]);
});

test("a call that was cancelled gets no answer, and whoever runs it is told, early or late", async () => {
  const { sink, told } = held();
  const aborted = vi.fn<() => void>();
  sink.cancelled.addEventListener("abort", aborted);
  sink.cancel();
  sink.cancel();
  await sink.finish(ANSWER);
  expect([await told(), aborted.mock.calls.length, sink.cancelled.aborted]).toEqual([[], 1, true]);
});

test("from when a call is stored its log takes everything, and the stream nothing", async () => {
  const { sink, told } = held();
  sink.notify("notifications/progress", progress(1));
  const log = outlet();
  sink.divert(log);
  sink.notify("notifications/progress", progress(2));
  await sink.finish(ANSWER);
  expect(log.append.mock.calls).toEqual([[expect.stringContaining('"progress":2')]]);
  expect([log.finish.mock.calls, sink.said, (await told()).length]).toEqual([[[ANSWER]], 1, 1]);
});

test("a stored call that was cancelled ends in its log without a word", async () => {
  const { sink, told } = held();
  const log = outlet();
  sink.divert(log);
  sink.cancel();
  await sink.finish(ANSWER);
  expect([log.finish.mock.calls, await told()]).toEqual([[[null]], []]);
});

test("a log that cannot be reached is the caller's to know, and the stream is told nothing in its place", async () => {
  const { sink, told } = held();
  const log = outlet();
  log.finish.mockRejectedValue(new Error("away"));
  sink.divert(log);
  await expect(sink.finish(ANSWER)).rejects.toThrow("away");
  expect(await told()).toEqual([]);
});

test("a client that is gone costs a call nothing but its answer", async () => {
  const { events, sink } = held();
  await events.body.cancel();
  sink.notify("notifications/progress", progress(1));
  await sink.finish(ANSWER);
  expect([events.closed, sink.cancelled.aborted]).toEqual([true, false]);
});
