// Where a request's notifications and its answer go, alone: nowhere, a stream, or a log; and what a connection that is gone
// means to the handler in each era.

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { RequestSink, type Outlet } from "../../src/http/call-sink.ts";

const ANSWER = '{"jsonrpc":"2.0","id":1,"result":{}}';
const ORPHAN_MS = 30_000;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const ERAS = ["2025", "2026"] as const;
const sinkOf = (era: (typeof ERAS)[number], streams = true, request?: Request) =>
  new RequestSink(request, era, streams);

/** The data of its stream. */
async function toldBy(sink: RequestSink): Promise<string[]> {
  const text = await new Response(sink.stream?.body).text();
  return text.split("\n").flatMap((line) => (line.startsWith("data: ") ? [line.slice(6)] : []));
}

function outlet() {
  const append = vi.fn<Outlet["append"]>();
  const finish = vi.fn<Outlet["finish"]>(() => Promise.resolve());
  const abandon = vi.fn<Outlet["abandon"]>();
  return { append, finish, abandon };
}

describe.each(ERAS)("in era %s", (era) => {
  test("the first notification begins the stream, and the answer ends it", async () => {
    const sink = sinkOf(era);
    const started = sink.whenStarted();
    expect(sink.stream).toBeUndefined();
    sink.notify("notifications/progress", { progress: 1 });
    await started;
    sink.notify("notifications/progress", { progress: 2 });
    await sink.finish(ANSWER);
    const told = (await toldBy(sink)).map((json) => JSON.parse(json) as { params?: { progress: number } });
    expect(told.map(({ params }) => params?.progress)).toEqual([1, 2, undefined]);
    expect(sink.said).toBe(2);
  });

  test("nothing is told to a client that takes no stream, or has its answer", () => {
    const [deaf, done] = [sinkOf(era, false), sinkOf(era)];
    done.shut();
    for (const sink of [deaf, done]) {
      sink.notify("notifications/progress", {});
      sink.start();
      expect([sink.stream, sink.said]).toEqual([undefined, 0]);
    }
  });

  test("a log takes everything from when it is there", async () => {
    const sink = sinkOf(era);
    sink.notify("notifications/progress", { progress: 1 });
    const log = outlet();
    sink.divert(log);
    sink.notify("notifications/progress", { progress: 2 });
    await sink.finish(ANSWER);
    expect(log.append.mock.calls).toEqual([[expect.stringContaining('"progress":2')]]);
    expect([log.finish.mock.calls, sink.said]).toEqual([[[ANSWER]], 1]);
    sink.stream?.end();
  });

  test("who asks late whether it is cancelled is told, too", () => {
    const sink = sinkOf(era);
    sink.cancel();
    expect(sink.cancelled.aborted).toBe(true);
  });
});

describe("a client that leaves", () => {
  test("cancels its request in era 2026, with a stream and without", async () => {
    const leave = new AbortController();
    const [plain, streaming] = [sinkOf("2026", true, new Request("http://x", leave)), sinkOf("2026")];
    expect(plain.cancelled.aborted).toBe(false);
    leave.abort();
    expect(plain.cancelled.aborted).toBe(true);
    streaming.start();
    await streaming.stream?.body.cancel();
    expect(streaming.cancelled.aborted).toBe(true);
  });

  test("does not cancel its request in era 2025 until half a minute is over, and whoever shows it is told at once", async () => {
    const leave = new AbortController();
    const sink = sinkOf("2025", true, new Request("http://x", leave));
    const gone = vi.fn<() => void>();
    sink.whenGone(gone);
    sink.start();
    leave.abort();
    await sink.stream?.body.cancel();
    vi.advanceTimersByTime(ORPHAN_MS - 1);
    expect([gone.mock.calls.length, sink.cancelled.aborted]).toEqual([1, false]);
    vi.advanceTimersByTime(1);
    expect(sink.cancelled.aborted).toBe(true);
  });
});

describe("a stored request whose client left", () => {
  test("is left to another run when half a minute is over: its result is not lost", async () => {
    const sink = sinkOf("2025");
    sink.start();
    const log = outlet();
    sink.divert(log);
    await sink.stream?.body.cancel();
    vi.advanceTimersByTime(ORPHAN_MS - 1);
    expect(log.abandon).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect([log.abandon.mock.calls.length, sink.cancelled.aborted]).toEqual([1, true]);
  });
});

describe("a request that was cancelled", () => {
  test("gets no answer in era 2025, on its stream or in its log", async () => {
    const [sink, logged] = [sinkOf("2025"), sinkOf("2025")];
    const log = outlet();
    logged.divert(log);
    for (const one of [sink, logged]) {
      one.start();
      one.cancel();
      await one.finish(ANSWER);
    }
    expect(await toldBy(sink)).toEqual([]);
    expect(log.finish.mock.calls).toEqual([[null]]);
    logged.stream?.end();
  });

  test("is answered in era 2026, where closing the connection is the only way to cancel", async () => {
    const sink = sinkOf("2026");
    sink.start();
    sink.cancel();
    await sink.finish(ANSWER);
    expect(await toldBy(sink)).toEqual([ANSWER]);
  });
});
