import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { GAUGES } from "../../src/telemetry/gauges.ts";
import { encodeEvent, EventStream, type EventStreamOptions } from "../../src/endpoint/event-stream.ts";

const KEEPALIVE_MS = 20_000;
const MINUTE = 60_000;
const UNREAD_BYTES = 4 * 1024 * 1024;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

function open(about: Partial<EventStreamOptions> = {}) {
  const gone = vi.fn<() => void>();
  const aged = vi.fn<() => void>();
  const stream = new EventStream({
    keepaliveMs: KEEPALIVE_MS,
    hasMaxAge: true,
    clientAddress: "",
    onDisconnect: gone,
    onMaxAge: aged,
    ...about,
  });
  return { stream, gone, aged };
}

const textOf = (stream: EventStream) => new Response(stream.body).text();

test("a stream counts as open until it ends, its reader leaves, or does not read", async () => {
  const before = GAUGES.openStreams;
  const ended = open().stream;
  const left = open().stream;
  const unread = open({ unreadBytes: 1 }).stream;
  expect(GAUGES.openStreams - before).toBe(3);
  ended.end();
  ended.end();
  expect(GAUGES.openStreams - before).toBe(2);
  await left.body.cancel();
  expect(GAUGES.openStreams - before).toBe(1);
  for (let at = 0; at < 3; at += 1) unread.write("x".repeat(100_000));
  unread.end();
  expect(GAUGES.openStreams).toBe(before);
});

describe("an event", () => {
  test("begins at once, and is one event after the other", async () => {
    const { stream } = open();
    stream.writePriming("n-0", 1000);
    stream.writeEvent('{"a":1}');
    stream.writeEvent('{"a":2}', "n-1");
    stream.end();
    expect(await textOf(stream)).toBe(
      ": open\n\nretry: 1000\nid: n-0\ndata:\n\n" +
        'event: message\ndata: {"a":1}\n\nid: n-1\nevent: message\ndata: {"a":2}\n\n',
    );
  });

  test("cannot break out of its event: JSON has no line breaks", () => {
    expect(encodeEvent(JSON.stringify("a\n\nevent: b\r\ndata: c")).split("\n")).toHaveLength(4);
  });

  test("is what no proxy may keep back", () => {
    const { stream } = open();
    const { headers } = stream.respond();
    expect(headers.get("content-type")).toBe("text/event-stream");
    expect(headers.get("cache-control")).toContain("no-transform");
    expect(headers.get("x-accel-buffering")).toBe("no");
    stream.end();
  });

  test("after the end is nothing, and ending twice is one end", async () => {
    const { stream, gone } = open();
    stream.end();
    stream.writeEvent("{}");
    stream.end();
    expect(await textOf(stream)).toBe(": open\n\n");
    expect([stream.closed, gone.mock.calls.length]).toEqual([true, 0]);
  });
});

describe("silence", () => {
  test("is broken by a comment, again and again, until the end", async () => {
    const { stream } = open();
    vi.advanceTimersByTime(2 * KEEPALIVE_MS);
    stream.end();
    vi.advanceTimersByTime(10 * KEEPALIVE_MS);
    expect(await textOf(stream)).toBe(": open\n\n: keepalive\n\n: keepalive\n\n");
  });
});

describe("age", () => {
  test.each([
    [0, 27],
    [0.5, 30],
    [1, 33],
  ])("ends it, not all at the same moment: by chance %d after %d minutes", async (chance, minutes) => {
    vi.spyOn(Math, "random").mockReturnValue(chance);
    const { stream, aged, gone } = open({ keepaliveMs: 1_000_000_000 });
    vi.advanceTimersByTime(minutes * MINUTE - 1);
    expect([stream.closed, aged.mock.calls.length]).toEqual([false, 0]);
    vi.advanceTimersByTime(2);
    expect([stream.closed, aged.mock.calls.length, gone.mock.calls.length]).toEqual([true, 1, 0]);
  });

  test("lets its feeder say goodbye first", async () => {
    const { stream } = open({ keepaliveMs: 1_000_000_000, onMaxAge: () => stream.write("retry: 5\n\n") });
    vi.advanceTimersByTime(40 * MINUTE);
    expect(await textOf(stream)).toBe(": open\n\nretry: 5\n\n");
  });

  test("is nothing to a stream that a call's own time bounds", () => {
    const { stream, aged } = open({ hasMaxAge: false });
    vi.advanceTimersByTime(60 * MINUTE);
    expect([stream.closed, aged.mock.calls.length]).toEqual([false, 0]);
    stream.end();
  });
});

describe("a reader", () => {
  const event = JSON.stringify("x".repeat(64 * 1024));

  test("that never reads costs a bounded number of bytes, and is disconnected", async () => {
    const { stream, gone } = open();
    let written = 0;
    for (; !stream.closed && written < 100 * 1024 * 1024; written += event.length) stream.writeEvent(event);
    expect(written).toBeGreaterThan(UNREAD_BYTES);
    expect(written).toBeLessThan(UNREAD_BYTES + 4 * event.length);
    expect([gone.mock.calls.length, vi.getTimerCount()]).toEqual([1, 0]);
    await expect(textOf(stream)).rejects.toThrow("does not read");
  });

  test("is disconnected sooner if few of the events could not be requested again", () => {
    const { stream, gone } = open({ unreadBytes: 256 * 1024 });
    let written = 0;
    for (; !stream.closed; written += event.length) stream.writeEvent(event);
    expect(written).toBeLessThan(256 * 1024 + 4 * event.length);
    expect(gone).toHaveBeenCalledOnce();
  });

  test("that reads gets far more than the limit of unread bytes", async () => {
    const { stream, gone } = open();
    const reader = stream.body.getReader();
    let read = 0;
    for (let times = 0; times < 200; times += 1) {
      stream.writeEvent(event);
      read += (await reader.read()).value?.byteLength ?? 0;
    }
    expect(read).toBeGreaterThan(2 * UNREAD_BYTES);
    expect([stream.closed, gone.mock.calls.length]).toEqual([false, 0]);
    stream.end();
  });

  test("may be given one event that is larger than that", async () => {
    const { stream } = open();
    const large = JSON.stringify("x".repeat(2 * UNREAD_BYTES));
    stream.writeEvent(large);
    stream.end();
    expect((await textOf(stream)).length).toBeGreaterThan(large.length);
  });

  test("that is slow gets every event that waits for its turn, however many, in order", async () => {
    const { stream, gone } = open();
    const written = Array.from({ length: 100 }, (_none, at) =>
      stream.writeInTurn(event.length, () => {
        stream.writeEvent(event, String(at));
      }),
    );
    const text = textOf(stream);
    await Promise.all(written);
    stream.end();
    const ids = [...(await text).matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));
    expect(ids).toEqual(Array.from({ length: 100 }, (_none, at) => at));
    expect(gone.mock.calls.length).toBe(0);
  });

  test("that pauses while events wait is disconnected after half a minute, and its events are dropped", async () => {
    const { stream, gone } = open();
    const waiting = [1, 2, 3].map((n) => stream.writeInTurn(event.length, () => stream.writeEvent(event, String(n))));
    await vi.advanceTimersByTimeAsync(29_999);
    expect([stream.closed, gone.mock.calls.length]).toEqual([false, 0]);
    await vi.advanceTimersByTimeAsync(1);
    await Promise.all(waiting);
    expect([stream.closed, gone.mock.calls.length, vi.getTimerCount()]).toEqual([true, 1, 0]);
  });

  test("may have one event waiting of any size that there is room for, but not without end", async () => {
    const { stream, gone } = open();
    void stream.writeInTurn(15 * UNREAD_BYTES, () => stream.writeEvent(event));
    expect([stream.closed, gone.mock.calls.length]).toEqual([false, 0]);
    void stream.writeInTurn(1, () => stream.writeEvent(event));
    expect([stream.closed, gone.mock.calls.length]).toEqual([true, 1]);
  });

  test("that leaves is noticed at once, once, and nothing keeps running", async () => {
    const { stream, gone, aged } = open();
    await stream.body.cancel();
    stream.writeEvent("{}");
    stream.end();
    expect([stream.closed, gone.mock.calls.length, aged.mock.calls.length]).toEqual([true, 1, 0]);
    expect(vi.getTimerCount()).toBe(0);
  });
});
