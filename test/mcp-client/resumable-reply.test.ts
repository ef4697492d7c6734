// The answer to one 2025 request over several connections: it goes on after the last event that was read, when the server says,
// and the request is sent once whatever happens.

import { expect, test } from "vitest";
import type { AnswerLimits } from "../../src/mcp-client/answer-limits.ts";
import { buildRequest2025 } from "../../src/mcp-client/prepared-request.ts";
import { send2025 } from "../../src/mcp-client/streamable-2025.ts";
import { bench, done, expectNothingLeft, faultOf, messagesOf, progress, SESSION } from "./client-setup.ts";
import type { Exchange } from "../support/scripted-server.ts";

expectNothingLeft();

const CALL = buildRequest2025({ id: 1, method: "tools/call", params: { name: "long" } });

async function calling(limits: Partial<AnswerLimits> = {}) {
  const made = await bench(undefined, limits);
  const reading = messagesOf(send2025(made.endpoint, SESSION, CALL, made.options));
  // Some tests look later.
  reading.catch(() => undefined);
  const first = (await made.server.next("tools/call")).stream();
  /** Lets the pause pass, and says who comes back. */
  const comesBack = async (afterMs: number): Promise<Exchange> => {
    await made.clock.untilWaitsFor(afterMs);
    made.clock.advance(afterMs);
    return made.server.next("GET");
  };
  return { ...made, reading, first, comesBack };
}

test("a stream that ends or breaks goes on after its last event, as often as the server wants", async () => {
  const { server, reading, first, comesBack } = await calling();
  first.raw("retry: 5\n").event("", "e-1").event(progress("one"), "e-2").drop();
  const second = await comesBack(5);
  expect(second.headers).toMatchObject({
    "last-event-id": "e-2",
    "mcp-session-id": "s-1",
    accept: "text/event-stream",
    authorization: "Bearer k",
  });
  second.stream().event(progress("two"), "e-3").end();
  // A connection on which nothing came stands where the one before it stood.
  (await comesBack(500)).stream().end();
  const last = await comesBack(1000);
  expect(last.headers["last-event-id"]).toBe("e-3");
  last.stream().event(done(1), "e-4").end();
  expect((await reading).map(({ text }) => text)).toEqual(
    [progress("one"), progress("two"), done(1)].map((message) => JSON.stringify(message)),
  );
  expect(server.names.filter((name) => name === "tools/call")).toHaveLength(1);
});

test("a server whose connections hold is come back to when it says, one that closes them at once less often", async () => {
  const { endpoint, server, clock, options } = await bench();
  const sending = send2025(endpoint, SESSION, CALL, options);
  let stream = (await server.next("tools/call")).stream().raw("retry: 5\n").event(progress("first"), "e");
  const { messages } = await sending;
  for (const [openMs, afterMs] of [
    [10, 5],
    [10_000, 5],
    [9999, 500],
    [10, 500],
    [20_000, 5],
  ] as const) {
    expect(await messages.next()).toMatchObject({ value: { kind: "notification" } });
    clock.advance(openMs);
    stream.end();
    // What is read next comes on the next connection.
    const reading = messages.next();
    await clock.untilWaitsFor(afterMs);
    clock.advance(afterMs);
    stream = (await server.next("GET")).stream().event(progress("next"), "e").event(progress("again"), "e");
    expect(await reading).toMatchObject({ value: { kind: "notification" } });
  }
  await messages.return?.();
  await stream.closed;
});

test("without a wish of the server it comes back after a while of its own", async () => {
  const { reading, first, comesBack } = await calling();
  first.event("", "e-1").end();
  (await comesBack(500)).stream().event(done(1)).end();
  expect(await reading).toHaveLength(1);
});

test("a server that is away for a while is tried again, less and less often, and when it says", async () => {
  const { reading, first, comesBack, server } = await calling();
  first.raw("retry: 5\n").event("", "e-1").drop();
  (await comesBack(5)).refuse(503);
  (await comesBack(500)).refuse(429, { "retry-after": "3" });
  (await comesBack(3000)).drop();
  (await comesBack(2000)).stream().event(done(1)).end();
  expect(await reading).toHaveLength(1);
  expect(server.names).toEqual(["tools/call", "GET", "GET", "GET", "GET"]);
});

test("a server that does not come back is given up, with the last reason, and the call may have run", async () => {
  const { reading, first, comesBack } = await calling();
  first.raw("retry: 5\n").event("", "e-1").drop();
  for (const afterMs of [5, 500, 1000, 2000, 4000]) (await comesBack(afterMs)).refuse(503);
  const fault = await faultOf(reading);
  expect(fault).toMatchObject({
    kind: "unresumable",
    lastFault: { kind: "status", http: { status: 503 } },
    sent: "yes",
  });
});

test.each([
  { what: "no such stream", answer: (one: Exchange) => one.refuse(405), lastFault: { kind: "status" } },
  { what: "no such session", answer: (one: Exchange) => one.refuse(404), lastFault: { kind: "sessionGone" } },
  {
    what: "a page",
    answer: (one: Exchange) => one.json("<h1>", 200, { "content-type": "text/html" }),
    lastFault: { kind: "notMcp" },
  },
  {
    what: "an error of its own",
    answer: (one: Exchange) => one.error(-32600, "No", 400),
    lastFault: { kind: "refused" },
  },
])("a server that answers with $what cannot be resumed, and is not asked again", async ({ answer, lastFault }) => {
  const { reading, first, comesBack, server } = await calling();
  first.raw("retry: 5\n").event("", "e-1").end();
  answer(await comesBack(5));
  expect(await faultOf(reading)).toMatchObject({ kind: "unresumable", lastFault, sent: "yes" });
  expect(server.names).toEqual(["tools/call", "GET"]);
});

test("a stream without ids cannot be resumed, nor one whose id was taken back", async () => {
  for (const ids of ["", "id: e-1\n\nid:\n\n"]) {
    const { reading, first, server } = await calling();
    first.raw(ids).event(progress("one")).end();
    expect(await faultOf(reading)).toMatchObject({ kind: "unanswered", sent: "yes" });
    expect(server.names).toEqual(["tools/call"]);
  }
});

test("a stream that falls silent is left and gone on with", async () => {
  const { endpoint, server, clock, options } = await bench(undefined, { silenceMs: 7000 });
  const sending = send2025(endpoint, SESSION, CALL, options);
  const first = (await server.next("tools/call")).stream().event(progress("one"), "e-1");
  const { messages } = await sending;
  expect(await messages.next()).toMatchObject({ value: { kind: "notification" } });
  const answer = messages.next();
  await clock.untilWaitsFor(7000);
  clock.advance(7000);
  await first.closed;
  await clock.untilWaitsFor(500);
  clock.advance(500);
  const second = await server.next("GET");
  expect(second.headers["last-event-id"]).toBe("e-1");
  second.stream().event(done(1)).end();
  expect(await answer).toMatchObject({ value: { kind: "response" } });
  await messages.return?.();
});

test("a request that is answered twice is not continued", async () => {
  const { reading, first, server } = await calling();
  first.raw(`id: e-1\ndata: ${JSON.stringify([done(1), done(1)])}\n\n`).end();
  expect(await faultOf(reading)).toMatchObject({ kind: "violation", rule: "answeredTwice" });
  expect(server.names).toEqual(["tools/call"]);
});

test("the time for the whole answer goes over all its connections", async () => {
  const { reading, first, comesBack, clock } = await calling({ totalMs: 10_000 });
  clock.advance(4000);
  first.raw("retry: 100\n").event("", "e-1").end();
  const second = (await comesBack(100)).stream().event(progress("one"));
  await clock.untilWaitsFor(5900);
  clock.advance(5900);
  await second.closed;
  expect(await faultOf(reading)).toEqual({ kind: "timeout", stage: "total", afterMs: 10_000, sent: "yes" });
});

test("the size of the whole answer goes over all its connections", async () => {
  const { reading, first, comesBack, server } = await calling({ responseBytes: 10_000 });
  const note = progress("x".repeat(1000));
  first.raw("retry: 5\n");
  for (let count = 0; count < 5; count += 1) first.event(note, "e-1");
  first.end();
  const second = (await comesBack(5)).stream();
  for (let count = 0; count < 5; count += 1) second.event(note, "e-2");
  expect(await faultOf(reading)).toEqual({ kind: "tooLarge", what: "response", limitBytes: 10_000, sent: "yes" });
  await second.closed;
  expect(server.names).toEqual(["tools/call", "GET"]);
});

test("the number of lines of the whole answer goes over all its connections", async () => {
  const { reading, first, comesBack } = await calling({ lines: 1000 });
  first.raw(`retry: 5\n${"id: e-1\n\n".repeat(400)}`).end();
  const second = (await comesBack(5)).stream().raw("id: e-2\n\n".repeat(400));
  expect(await faultOf(reading)).toEqual({ kind: "tooLarge", what: "stream", limitLines: 1000, sent: "yes" });
  await second.closed;
});

test("a pause that is longer than the time left ends the request at once", async () => {
  const { reading, first } = await calling({ totalMs: 10_000 });
  first.raw("retry: 10000\n").event("", "e-1").end();
  expect(await faultOf(reading)).toEqual({ kind: "timeout", stage: "total", afterMs: 10_000, sent: "yes" });
});

test("a caller who goes during a pause ends it", async () => {
  const { reading, first, clock, abort, server } = await calling();
  first.raw("retry: 61000\n").event("", "e-1").end();
  await clock.untilWaitsFor(61_000);
  abort.abort();
  expect(await faultOf(reading)).toEqual({ kind: "cancelled", sent: "yes" });
  expect(server.names).toEqual(["tools/call"]);
});

test("a caller who goes while the stream is opened again ends that", async () => {
  const { reading, first, comesBack, abort } = await calling();
  first.raw("retry: 5\n").event("", "e-1").end();
  const second = await comesBack(5);
  abort.abort();
  expect(await faultOf(reading)).toEqual({ kind: "cancelled", sent: "yes" });
  await second.closed;
});

test("a reader who stops on the second connection closes it", async () => {
  const { endpoint, server, clock, options } = await bench();
  const sending = send2025(endpoint, SESSION, CALL, options);
  (await server.next("tools/call")).stream().raw("retry: 0\n").event("", "e-1").end();
  const { messages } = await sending;
  const reading = messages.next();
  await clock.untilWaitsFor(0);
  clock.advance(0);
  const second = (await server.next("GET")).stream().event(progress("one"), "e-2");
  expect(await reading).toMatchObject({ value: { kind: "notification" } });
  await messages.return?.();
  await second.closed;
});

test("a reader who stops during a pause ends it", async () => {
  const { endpoint, server, clock, options } = await bench();
  const sending = send2025(endpoint, SESSION, CALL, options);
  (await server.next("tools/call")).stream().raw("retry: 61000\n").event("", "e-1").end();
  const { messages } = await sending;
  const reading = faultOf(messages.next());
  await clock.untilWaitsFor(61_000);
  await messages.return?.();
  expect(await reading).toEqual({ kind: "cancelled", sent: "yes" });
});
