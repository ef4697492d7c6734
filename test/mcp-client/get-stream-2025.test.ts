// The stream on which a 2025 server speaks unasked: opened again where it stopped, handed over as it comes, and left alone
// where a server has none.

import { expect, test } from "vitest";
import { followGetStream, type GetStreamEvent } from "../../src/mcp-client/get-stream-2025.ts";
import { bench, expectNothingLeft, faultOf, SESSION } from "./client-setup.ts";
import type { Exchange, Json } from "../support/scripted-server.ts";

expectNothingLeft();

const changed: Json = { jsonrpc: "2.0", method: "notifications/tools/list_changed" };

async function following(script?: (exchange: Exchange) => void, lastEventId?: string) {
  const made = await bench(script);
  const events = followGetStream(made.endpoint, SESSION, { ...made.options, lastEventId });
  const next = async (): Promise<GetStreamEvent | undefined> => {
    const { done: isDone, value } = await events.next();
    return isDone === true ? undefined : value;
  };
  /** Reads through a drop and its pause, to the one who comes back. */
  const comesBack = async (afterMs: number): Promise<Exchange> => {
    expect(await next()).toMatchObject({ kind: "dropped", waitMs: afterMs });
    reading = next();
    await made.clock.untilWaitsFor(afterMs);
    made.clock.advance(afterMs);
    return made.server.next("GET");
  };
  let reading: Promise<GetStreamEvent | undefined> = Promise.resolve(undefined);
  return { ...made, events, next, comesBack, soon: async () => reading };
}

test("messages on the stream are handed over as they come, with the place to go on", async () => {
  const { server, next, events } = await following();
  const reading = next();
  const stream = (await server.next("GET")).stream();
  expect(server.exchanges[0]?.headers).toMatchObject({ accept: "text/event-stream", "mcp-session-id": "s-1" });
  expect(server.exchanges[0]?.headers).not.toHaveProperty("last-event-id");
  expect(await reading).toEqual({ kind: "opened" });
  stream.raw(": keep-alive\n\n").event(changed, "e-1").event({ jsonrpc: "2.0", id: "q", method: "roots/list" });
  expect(await next()).toMatchObject({ kind: "message", message: { method: changed["method"] }, lastEventId: "e-1" });
  expect(await next()).toMatchObject({ kind: "message", message: { kind: "request", id: "q" }, lastEventId: "e-1" });
  await events.return?.();
  await stream.closed;
});

test("a stream that ends or breaks is opened again after its last event", async () => {
  const { server, next, comesBack, soon, events } = await following();
  const reading = next();
  (await server.next("GET")).stream().raw("retry: 5\n").event(changed, "e-1").event("", "e-2").end();
  expect(await reading).toEqual({ kind: "opened" });
  expect(await next()).toMatchObject({ kind: "message" });
  const second = await comesBack(5);
  expect(second.headers["last-event-id"]).toBe("e-2");
  second.stream().event(changed).drop();
  expect(await soon()).toEqual({ kind: "opened" });
  expect(await next()).toMatchObject({ kind: "message", lastEventId: "e-2" });
  // Twice within moments: a server that closes its connections at once is not asked at its own pace.
  const third = await comesBack(500);
  expect(third.headers["last-event-id"]).toBe("e-2");
  await events.return?.();
});

test("pauses grow while the stream cannot be opened, and are as long as the server asks", async () => {
  const { server, next, clock, events } = await following();
  let reading = next();
  for (const [afterMs, headers] of [
    [500, {}],
    [500, {}],
    [7000, { "retry-after": "7" }],
    [2000, {}],
  ] as const) {
    (await server.next("GET")).refuse(503, headers);
    expect(await reading).toMatchObject({ kind: "dropped", waitMs: afterMs });
    reading = next();
    await clock.untilWaitsFor(afterMs);
    clock.advance(afterMs);
  }
  (await server.next("GET")).stream().event(changed);
  expect(await reading).toEqual({ kind: "opened" });
  await events.return?.();
});

test("a stream that held for a while is opened again at the server's pace, one that did not less often", async () => {
  const { server, next, comesBack, soon, clock, events } = await following();
  const reading = next();
  let stream = (await server.next("GET")).stream().raw("retry: 5\n").event(changed);
  expect(await reading).toEqual({ kind: "opened" });
  for (const [openMs, afterMs] of [
    [10, 5],
    [10, 500],
    [10_000, 5],
  ] as const) {
    expect(await next()).toMatchObject({ kind: "message" });
    clock.advance(openMs);
    stream.end();
    stream = (await comesBack(afterMs)).stream().event(changed);
    expect(await soon()).toEqual({ kind: "opened" });
  }
  await events.return?.();
});

test("a server without this stream says so, and nothing follows", async () => {
  const { next, server } = await following((one) => one.refuse(405));
  expect(await next()).toBeUndefined();
  expect(server.exchanges).toHaveLength(1);
});

test.each([
  { status: 404, kind: "status" },
  { status: 401, kind: "status" },
])("a server that refuses the stream from the first with $status is not asked again", async ({ status, kind }) => {
  const { events, server } = await following((one) => one.refuse(status));
  expect(await faultOf(events.next())).toMatchObject({ kind, http: { status } });
  expect(server.exchanges).toHaveLength(1);
});

test.each([
  { how: "has been open", lastEventId: undefined, opensFirst: true },
  { how: "was open elsewhere", lastEventId: "e-7", opensFirst: false },
])("404 says that the session is gone where the stream $how", async ({ lastEventId, opensFirst }) => {
  const { events, server, clock, next } = await following(undefined, lastEventId);
  if (opensFirst) {
    const opened = next();
    (await server.next("GET")).stream().end();
    expect(await opened).toEqual({ kind: "opened" });
    expect(await next()).toMatchObject({ kind: "dropped" });
  }
  const reading = faultOf(events.next());
  if (opensFirst) {
    await clock.untilWaitsFor(500);
    clock.advance(500);
  }
  const last = await server.next("GET");
  expect(last.headers["last-event-id"]).toBe(lastEventId);
  last.refuse(404);
  expect(await reading).toMatchObject({ kind: "sessionGone" });
});

test("an event that is no message and a response are skipped, and what follows is read", async () => {
  const { next, events } = await following((one) => {
    one.stream().raw("data: {\n\n").event({ jsonrpc: "2.0", id: 1, result: {} }).event(changed);
  });
  expect(await next()).toEqual({ kind: "opened" });
  expect(await next()).toMatchObject({ kind: "message", message: { method: changed["method"] } });
  await events.return?.();
});

test("the limit of lines goes over all connections of the stream", async () => {
  const { endpoint, server, clock, options } = await bench();
  const limits = { lines: 1000, linesPerSecond: 0 };
  const events = followGetStream(endpoint, SESSION, { ...options, limits });
  const opened = events.next();
  (await server.next("GET")).stream().raw("id: e-1\n\n".repeat(400)).end();
  expect((await opened).value).toEqual({ kind: "opened" });
  expect((await events.next()).value).toMatchObject({ kind: "dropped" });
  const again = events.next();
  await clock.untilWaitsFor(500);
  clock.advance(500);
  (await server.next("GET")).stream().raw("id: e-2\n\n".repeat(400));
  expect((await again).value).toEqual({ kind: "opened" });
  expect(await faultOf(events.next())).toMatchObject({ kind: "tooLarge", what: "stream", limitLines: 1000 });
});

test("the caller's signal ends the stream quietly, in a pause and in a read", async () => {
  for (const isOpen of [true, false]) {
    const { next, abort, server } = await following((one) => (isOpen ? one.stream() : one.refuse(503)));
    await next();
    const reading = next();
    abort.abort();
    expect(await reading).toBeUndefined();
    await server.exchanges[0]?.closed;
  }
});

test("a reader who never begins opens nothing", async () => {
  const { events, server } = await following();
  await events.return?.();
  expect(await events.next()).toEqual({ done: true, value: undefined });
  expect(server.exchanges).toEqual([]);
});

test("a reader who leaves at an event ends its body, on a platform too that does not at an abort", async () => {
  const { endpoint } = await bench();
  let isCancelled = false;
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode(`data: ${JSON.stringify(changed)}\n\n`)),
    cancel: () => {
      isCancelled = true;
    },
  });
  const deaf = async () => new Response(body, { headers: { "content-type": "text/event-stream" } });
  for await (const event of followGetStream({ ...endpoint, fetch: deaf }, SESSION)) {
    if (event.kind === "message") break;
  }
  expect(isCancelled).toBe(true);
});
