// How long an answer may take, and who may end it earlier: each limit of time is a fault that says which one it was, the
// caller's signal ends everything at once, and nothing stays behind.

import { describe, expect, test } from "vitest";
import { STREAM_LIMITS } from "../../src/mcp-client/answer-limits.ts";
import { McpFault } from "../../src/mcp-client/fault.ts";
import { bench, done, expectNothingLeft, faultOf, messagesOf, progress, WAYS } from "./client-setup.ts";

expectNothingLeft();

const LIMITS = { headersMs: 1000, silenceMs: 2000, totalMs: 10_000 };

describe.each(WAYS)("era $era", ({ send, tell }) => {
  test("a server that does not begin to answer is not waited for", async () => {
    const { endpoint, server, clock, options } = await bench(undefined, LIMITS);
    const work = faultOf(send(endpoint, options));
    const exchange = await server.next("tools/call");
    clock.advance(999);
    expect(clock.pending).toContain(1000);
    clock.advance(1);
    expect(await work).toEqual({ kind: "timeout", stage: "headers", afterMs: 1000, sent: "perhaps" });
    await exchange.closed;
  });

  test("half a head is not the beginning of an answer", async () => {
    const { endpoint, server, clock, options } = await bench(undefined, LIMITS);
    const work = faultOf(send(endpoint, options));
    (await server.next("tools/call")).wire("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n");
    clock.advance(1000);
    expect(await work).toMatchObject({ kind: "timeout", stage: "headers" });
  });

  test("a server that falls silent within a JSON body is not waited for", async () => {
    const { endpoint, server, clock, options } = await bench(undefined, LIMITS);
    const work = faultOf(send(endpoint, options));
    const exchange = (await server.next("tools/call")).stream({ "content-type": "application/json" }).raw('{"jsonrpc"');
    await clock.untilWaitsFor(2000);
    clock.advance(2000);
    expect(await work).toEqual({ kind: "timeout", stage: "silence", afterMs: 2000, sent: "yes" });
    await exchange.closed;
  });

  test("a JSON body that says how short it is counts as silent until all of it is there", async () => {
    const { endpoint, server, clock, options } = await bench(undefined, LIMITS);
    const body = JSON.stringify(done(1));
    const head = { "content-type": "application/json", "content-length": String(body.length) };
    const whole = messagesOf(send(endpoint, options));
    (await server.next("tools/call")).stream(head).raw(body).end();
    expect(await whole).toMatchObject([{ kind: "response", result: "{}" }]);
    const work = faultOf(send(endpoint, options));
    const silent = (await server.next("tools/call")).stream(head).raw(body.slice(1));
    await clock.untilWaitsFor(2000);
    clock.advance(2000);
    expect(await work).toEqual({ kind: "timeout", stage: "silence", afterMs: 2000, sent: "yes" });
    await silent.closed;
    const broken = faultOf(send(endpoint, options));
    (await server.next("tools/call")).stream(head).raw(body.slice(2)).reset();
    expect(await broken).toMatchObject({ kind: "lost" });
  });

  test("a server that falls silent within a stream is not waited for, and a slow reader is no silence", async () => {
    const { endpoint, server, clock, options } = await bench(undefined, LIMITS);
    const sending = send(endpoint, options);
    const exchange = (await server.next("tools/call")).stream().event(progress("one"));
    const { messages } = await sending;
    expect((await messages.next()).value).toMatchObject({ method: "notifications/progress" });
    // Nobody waits for the next event yet.
    clock.advance(5000);
    exchange.event(progress("two"));
    expect((await messages.next()).value).toMatchObject({ method: "notifications/progress" });
    const work = faultOf(messages.next());
    await clock.untilWaitsFor(2000);
    clock.advance(2000);
    expect(await work).toMatchObject({ kind: "timeout", stage: "silence", sent: "yes" });
    await exchange.closed;
  });

  test("a slow drip is no silence, and ends when the time is over in all", async () => {
    const { endpoint, server, clock, options } = await bench(undefined, LIMITS);
    const sending = send(endpoint, options);
    const exchange = (await server.next("tools/call")).stream();
    const { messages } = await sending;
    const seen: unknown[] = [];
    for (let count = 0; count < 6; count += 1) {
      exchange.raw(": drip\n").event(progress(String(count)));
      seen.push((await messages.next()).value);
      clock.advance(1500);
    }
    expect(seen).toHaveLength(6);
    const work = faultOf(messages.next());
    clock.advance(1000);
    expect(await work).toEqual({ kind: "timeout", stage: "total", afterMs: 10_000, sent: "yes" });
    await exchange.closed;
  });

  test("a time that ends while nobody reads is told to whoever reads next", async () => {
    const { endpoint, server, clock, options } = await bench(undefined, LIMITS);
    const sending = send(endpoint, options);
    const exchange = (await server.next("tools/call")).stream().event(progress("one"));
    const { messages } = await sending;
    clock.advance(10_000);
    await exchange.closed;
    expect(await faultOf(messages.next())).toMatchObject({ kind: "timeout", stage: "total" });
  });

  test("limits of one request stand before those of the endpoint", async () => {
    const { endpoint, server, clock, options } = await bench(undefined, LIMITS);
    const work = faultOf(send(endpoint, { ...options, limits: { headersMs: 5 } }));
    await server.next("tools/call");
    clock.advance(5);
    expect(await work).toMatchObject({ kind: "timeout", afterMs: 5 });
  });

  test("no limit is Infinity, and sets no timer", async () => {
    const { endpoint, server, clock, options } = await bench(undefined, {
      headersMs: Infinity,
      silenceMs: Infinity,
      totalMs: Infinity,
    });
    const sending = messagesOf(send(endpoint, options));
    const exchange = await server.next("tools/call");
    expect(clock.pending).toEqual([]);
    exchange.json(done(1));
    expect(await sending).toHaveLength(1);
  });

  test("a caller who is gone already sends nothing", async () => {
    const { endpoint, server, abort, options } = await bench((one) => one.json(done(1)));
    abort.abort();
    expect(await faultOf(send(endpoint, options))).toEqual({ kind: "cancelled", sent: "no" });
    expect(await faultOf(tell(endpoint, options))).toEqual({ kind: "cancelled", sent: "no" });
    expect(server.exchanges).toEqual([]);
  });

  test("a caller who goes before the answer closes the request, which may have been taken", async () => {
    const { endpoint, server, abort, options } = await bench();
    const work = faultOf(send(endpoint, options));
    const exchange = await server.next("tools/call");
    abort.abort();
    expect(await work).toEqual({ kind: "cancelled", sent: "perhaps" });
    await exchange.closed;
  });

  test("a caller who goes within the answer closes it", async () => {
    const { endpoint, server, abort, options } = await bench();
    const sending = send(endpoint, options);
    const exchange = (await server.next("tools/call")).stream().event(progress("half"));
    const { messages } = await sending;
    expect(await messages.next()).toMatchObject({ value: { kind: "notification" } });
    const work = faultOf(messages.next());
    abort.abort();
    expect(await work).toEqual({ kind: "cancelled", sent: "yes" });
    await exchange.closed;
  });

  test("a caller's reason that is a fault is the fault, with what is known here of the sending", async () => {
    const { endpoint, server, abort, options } = await bench();
    const work = faultOf(send(endpoint, options));
    await server.next("tools/call");
    abort.abort(new McpFault({ kind: "timeout", stage: "total", afterMs: 77, sent: "no" }));
    expect(await work).toEqual({ kind: "timeout", stage: "total", afterMs: 77, sent: "perhaps" });
  });

  test("a caller's signal that outlives a hundred requests has no listener of them", async () => {
    const { endpoint, options, listeners, clock } = await bench((one) =>
      one.method === "tools/call" ? one.stream().event(done(1)).end() : one.refuse(202),
    );
    for (let count = 0; count < 100; count += 1) {
      await messagesOf(send(endpoint, options));
      await tell(endpoint, options);
    }
    expect(listeners()).toBe(0);
    expect(clock.pending).toEqual([]);
  });
});

test("a stream that stands open may do so for ever", () => {
  expect(STREAM_LIMITS).toMatchObject({ totalMs: Infinity, responseBytes: Infinity });
});
