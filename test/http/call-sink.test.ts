// Where a request's notifications and its answer go, alone: nowhere, a stream, or a log; and what a connection that is gone
// means to the handler in each era.

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { CallSink, type Outlet } from "../../src/http/call-sink.ts";
import { requestSink, RequestStream } from "../../src/http/request-stream.ts";

const ANSWER = '{"jsonrpc":"2.0","id":1,"result":{}}';
const ORPHAN_MS = 30_000;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const ERAS = ["2025", "2026"] as const;
const NOBODY = new Request("http://x");

function sinkOf(era: (typeof ERAS)[number], streams = true, request = NOBODY) {
  const stream = new RequestStream(request, era, streams);
  return { sink: requestSink(stream, era), stream };
}

/** The data of its stream. */
async function toolText({ events }: RequestStream): Promise<string[]> {
  const text = await new Response(events?.body).text();
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
    const { sink, stream } = sinkOf(era);
    const started = stream.whenStarted();
    expect(stream.events).toBeUndefined();
    sink.notify("notifications/progress", { progress: 1 });
    await started;
    sink.notify("notifications/progress", { progress: 2 });
    await sink.finish(ANSWER);
    const told = (await toolText(stream)).map((json) => JSON.parse(json) as { params?: { progress: number } });
    expect(told.map(({ params }) => params?.progress)).toEqual([1, 2, undefined]);
    expect(sink.said).toBe(2);
  });

  test("nothing is told to a client that takes no stream, or has its answer", () => {
    const [deaf, done] = [sinkOf(era, false), sinkOf(era)];
    done.stream.shut();
    for (const { sink, stream } of [deaf, done]) {
      sink.notify("notifications/progress", {});
      stream.start();
      expect([stream.events, sink.said]).toEqual([undefined, 0]);
    }
  });

  test("a log takes everything from when it is there", async () => {
    const { sink, stream } = sinkOf(era);
    sink.notify("notifications/progress", { progress: 1 });
    const log = outlet();
    sink.divert(log);
    sink.notify("notifications/progress", { progress: 2 });
    await sink.finish(ANSWER);
    expect(log.append.mock.calls).toEqual([[expect.stringContaining('"progress":2')]]);
    expect([log.finish.mock.calls, sink.said]).toEqual([[[ANSWER]], 1]);
    stream.events?.end();
  });

  test("who asks late whether it is cancelled is told, too", () => {
    const { sink } = sinkOf(era);
    sink.cancel();
    expect(sink.cancelled.aborted).toBe(true);
  });
});

describe("a client that leaves", () => {
  test("cancels its request in era 2026, with a stream and without", async () => {
    const leave = new AbortController();
    const [plain, streaming] = [sinkOf("2026", true, new Request("http://x", leave)), sinkOf("2026")];
    expect(plain.sink.cancelled.aborted).toBe(false);
    leave.abort();
    expect(plain.sink.cancelled.aborted).toBe(true);
    streaming.stream.start();
    await streaming.stream.events?.body.cancel();
    expect(streaming.sink.cancelled.aborted).toBe(true);
  });

  test("does not cancel its request in era 2025 until half a minute is over, and whoever shows it is told at once", async () => {
    const leave = new AbortController();
    const { sink, stream } = sinkOf("2025", true, new Request("http://x", leave));
    const gone = vi.fn<() => void>();
    stream.whenGone(gone);
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

describe("a request that was cancelled", () => {
  test("gets no answer in era 2025, on its stream or in its log", async () => {
    const [plain, logged] = [sinkOf("2025"), sinkOf("2025")];
    const log = outlet();
    logged.sink.divert(log);
    for (const { sink, stream } of [plain, logged]) {
      stream.start();
      sink.cancel();
      await sink.finish(ANSWER);
    }
    expect(await toolText(plain.stream)).toEqual([]);
    expect(log.finish.mock.calls).toEqual([[null]]);
    logged.stream.events?.end();
  });

  test("is answered in era 2026, where closing the connection is the only way to cancel", async () => {
    const { sink, stream } = sinkOf("2026");
    stream.start();
    sink.cancel();
    await sink.finish(ANSWER);
    expect(await toolText(stream)).toEqual([ANSWER]);
  });
});

describe("calls that share one stream", () => {
  function shared() {
    const told: (string | null)[] = [];
    const mouth = {
      say: (json: string) => told.push(json) > 0,
      end: (json: string | null) => {
        told.push(json);
      },
    };
    const log = outlet();
    return { told, log, sink: () => new CallSink(mouth, "2025") };
  }

  test("each says what it says before its answer, and nothing after it", async () => {
    const { told, sink } = shared();
    const [one, other] = [sink(), sink()];
    one.notify("notifications/progress", { progress: 1 });
    await one.finish(ANSWER);
    one.notify("notifications/progress", { progress: 2 });
    await other.finish('"other"');
    expect(told).toEqual([expect.stringContaining('"progress":1'), ANSWER, '"other"']);
    expect([one.said, other.said]).toEqual([1, 0]);
  });

  test("one that was cancelled gets no answer, and whoever runs it is told once, early or late", async () => {
    const { told, sink } = shared();
    const one = sink();
    const aborted = vi.fn<() => void>();
    one.cancelled.addEventListener("abort", aborted);
    one.cancel();
    one.cancel();
    await one.finish(ANSWER);
    expect([told, aborted.mock.calls.length, one.cancelled.aborted]).toEqual([[null], 1, true]);
  });

  test("from when one is stored its log takes everything, and the stream nothing", async () => {
    const { told, log, sink } = shared();
    const one = sink();
    one.divert(log);
    one.notify("notifications/progress", { progress: 2 });
    one.cancel();
    await one.finish(ANSWER);
    expect(told).toEqual([]);
    expect([log.append.mock.calls.length, log.finish.mock.calls]).toEqual([1, [[null]]]);
  });
});
