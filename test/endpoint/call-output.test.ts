// What a disconnect means to a handler in each era, with a manual clock: half a minute is too long to wait. Cases over
// the wire are in streaming.test.ts and era-2025/.

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { EventLog } from "../../src/endpoint/call-output.ts";
import { createRequestOutput, RequestStream } from "../../src/endpoint/request-stream.ts";

const ORPHAN_MS = 30_000;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function sinkOf(era: "2025" | "2026", request = new Request("http://x")) {
  const stream = new RequestStream(request, era, true);
  return { sink: createRequestOutput(stream, era), stream };
}

function outlet() {
  const append = vi.fn<EventLog["append"]>();
  const finish = vi.fn<EventLog["finish"]>(() => Promise.resolve());
  const abandon = vi.fn<EventLog["abandon"]>();
  return { append, finish, abandon };
}

describe("a client that leaves", () => {
  test("cancels its request in era 2026, with a stream and without", async () => {
    const leave = new AbortController();
    const [plain, streaming] = [sinkOf("2026", new Request("http://x", leave)), sinkOf("2026")];
    expect(plain.sink.cancelled.aborted).toBe(false);
    leave.abort();
    expect(plain.sink.cancelled.aborted).toBe(true);
    streaming.stream.start();
    await streaming.stream.events?.body.cancel();
    expect(streaming.sink.cancelled.aborted).toBe(true);
  });

  test("cancels its request in era 2025 after half a minute, and its viewer is notified at once", async () => {
    const leave = new AbortController();
    const { sink, stream } = sinkOf("2025", new Request("http://x", leave));
    const gone = vi.fn<() => void>();
    stream.whenDisconnected(gone);
    stream.start();
    leave.abort();
    await stream.events?.body.cancel();
    vi.advanceTimersByTime(ORPHAN_MS - 1);
    expect([gone.mock.calls.length, sink.cancelled.aborted]).toEqual([1, false]);
    vi.advanceTimersByTime(1);
    expect(sink.cancelled.aborted).toBe(true);
  });
});

describe("a stored request whose client left", () => {
  test("is left to another run when half a minute is over: its result is not lost", async () => {
    const { sink, stream } = sinkOf("2025");
    stream.start();
    const log = outlet();
    sink.divert(log);
    await stream.events?.body.cancel();
    vi.advanceTimersByTime(ORPHAN_MS - 1);
    expect(log.abandon).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect([log.abandon.mock.calls.length, sink.cancelled.aborted]).toEqual([1, true]);
  });
});
