// Reading an answer, in both eras: what is said meanwhile, then one response, as text that nobody has touched. Whoever stops
// earlier, or never begins, closes the connection.

import { describe, expect, test } from "vitest";
import { readResponse } from "../../src/mcp-client/mcp-reply.ts";
import { bench, done, expectNothingLeft, faultOf, messagesOf, progress, WAYS } from "./client-setup.ts";
import type { Exchange } from "../support/scripted-server.ts";

expectNothingLeft();

const ODD = '{"jsonrpc":"2.0",\r\n "id":1, "result":{ "big":12345678901234567890 ,"one":1.0, "é":"\\u00e9" } }';

const BODIES = [
  { as: "JSON", answer: (one: Exchange, text: string) => one.json(text) },
  {
    as: "JSON by another name",
    answer: (one: Exchange, text: string) => one.json(text, 200, { "content-type": "application/mcp+json; v=1" }),
  },
  { as: "JSON with a byte order mark", answer: (one: Exchange, text: string) => one.json(`\ufeff${text}`) },
  {
    as: "JSON in pieces of one byte",
    answer: (one: Exchange, text: string) => {
      one.stream({ "content-type": "application/json" });
      for (const byte of Buffer.from(text)) one.raw(Buffer.of(byte));
      one.end();
    },
  },
];

describe.each(WAYS)("era $era", ({ era, send }) => {
  test.each(BODIES)("an answer as $as has the text that was written", async ({ answer }) => {
    const { endpoint, options } = await bench((one) => answer(one, ODD));
    const [message] = await messagesOf(send(endpoint, options));
    expect(message).toMatchObject({ kind: "response", id: 1, text: ODD });
    expect(message).toMatchObject({ result: '{ "big":12345678901234567890 ,"one":1.0, "é":"\\u00e9" }' });
  });

  test("an answer in an event has the text that was written, in as many lines as it came", async () => {
    const { endpoint, options } = await bench((one) => {
      const data = ODD.split("\r\n").map((line) => `data: ${line}`);
      one
        .stream()
        .raw(`${data.join("\r\n")}\r\n\r\n`)
        .end();
    });
    const [message] = await messagesOf(send(endpoint, options));
    expect(message).toMatchObject({ id: 1, text: ODD.replace("\r\n", "\n") });
  });

  test("notifications and requests come in order, as they come, and the response last", async () => {
    const { endpoint, server, options } = await bench();
    const sending = send(endpoint, options);
    const exchange = (await server.next("tools/call")).stream();
    const { messages, http } = await sending;
    expect(http).toEqual({ status: 200, contentType: "text/event-stream" });
    exchange.event(progress("one"));
    expect((await messages.next()).value).toMatchObject({ kind: "notification" });
    exchange
      .raw(": keep-alive\n\nevent: other\ndata: {}\n\n")
      .event("", "e-1")
      .raw("event: message\n")
      .event(progress("two"));
    expect((await messages.next()).value).toMatchObject({ text: JSON.stringify(progress("two")) });
    exchange.event({ jsonrpc: "2.0", id: "q", method: "roots/list" });
    expect((await messages.next()).value).toMatchObject({ kind: "request", id: "q", method: "roots/list" });
    exchange.event(done(1));
    expect((await messages.next()).value).toMatchObject({ kind: "response", id: 1 });
    expect(await messages.next()).toEqual({ done: true, value: undefined });
    await exchange.closed;
  });

  test("a batch is its messages", async () => {
    const { endpoint, options } = await bench((one) =>
      one
        .stream()
        .raw(`data: ${JSON.stringify([progress("one"), done(1)])}\n\n`)
        .end(),
    );
    expect((await messagesOf(send(endpoint, options))).map(({ kind }) => kind)).toEqual(["notification", "response"]);
  });

  test("a batch with two answers hands over none", async () => {
    const { endpoint, options } = await bench((one) =>
      one
        .stream()
        .raw(`data: ${JSON.stringify([done(1), done(1)])}\n\n`)
        .end(),
    );
    const { messages } = await send(endpoint, options);
    expect(await faultOf(messages.next())).toMatchObject({ kind: "violation", rule: "answeredTwice" });
  });

  test.each(["x".repeat(10_000), 'quo"te', 2 ** 53, -1.5, 0, ""])("the id %j comes back as it was sent", async (id) => {
    const { endpoint, options } = await bench((one) => one.json(done(one.message["id"])));
    expect(await messagesOf(send(endpoint, options, id))).toMatchObject([{ kind: "response", id }]);
  });

  test("a server that leaves the stream open after its answer is left at once", async () => {
    const { endpoint, server, options } = await bench((one) => one.stream().event(done(1)));
    expect(await messagesOf(send(endpoint, options))).toHaveLength(1);
    await server.exchanges[0]?.closed;
  });

  test("a reader who lingers leaves it when the time is over", async () => {
    const { endpoint, server, clock, options } = await bench((one) => one.stream().event(done(1)), { lingerMs: 50 });
    const reading = messagesOf(send(endpoint, options));
    await clock.untilWaitsFor(50);
    clock.advance(50);
    expect(await reading).toHaveLength(1);
    await server.exchanges[0]?.closed;
  });

  test("a reader who lingers leaves the connection to later requests", async () => {
    const { endpoint, options, server } = await bench((one) => one.stream().event(done(1)).end(), { lingerMs: 1000 });
    for (let count = 0; count < 5; count += 1) await messagesOf(send(endpoint, options));
    expect(new Set(server.exchanges.map(({ port }) => port)).size).toBeLessThan(5);
  });

  test("a second answer is a fault for whoever is still reading", async () => {
    const { endpoint, options } = await bench((one) => one.stream().event(done(1)).event(done(1)), { lingerMs: 1000 });
    const { messages } = await send(endpoint, options);
    expect((await messages.next()).value).toMatchObject({ kind: "response" });
    expect(await faultOf(messages.next())).toMatchObject({ kind: "violation", rule: "answeredTwice" });
  });

  test("an answer stands though the connection breaks after it", async () => {
    const { endpoint, options } = await bench((one) => one.stream().event(done(1)).drop(), { lingerMs: 1000 });
    expect(await messagesOf(send(endpoint, options))).toHaveLength(1);
  });

  test("a reader who stops closes the connection", async () => {
    const { endpoint, server, options } = await bench((one) => one.stream().event(progress("one")));
    for await (const message of (await send(endpoint, options)).messages) {
      expect(message.kind).toBe("notification");
      break;
    }
    await server.exchanges[0]?.closed;
  });

  test("a reader who never begins closes the connection too", async () => {
    const { endpoint, server, options } = await bench((one) => one.stream().event(progress("one")));
    const { messages } = await send(endpoint, options);
    await messages.return?.();
    await server.exchanges[0]?.closed;
    expect(await messages.next()).toEqual({ done: true, value: undefined });
  });

  test("the response is given alone, and notifications are handed over", async () => {
    const { endpoint, options } = await bench((one) =>
      one
        .stream()
        .event(progress("one"))
        .event(done(1, { a: 1 })),
    );
    const taken: string[] = [];
    const response = await readResponse(await send(endpoint, options), (message) => void taken.push(message.method));
    expect(response.result).toBe('{"a":1}');
    expect(taken).toEqual(["notifications/progress"]);
  });

  test("a reader who fails closes the connection", async () => {
    const { endpoint, server, options } = await bench((one) => one.stream().event(progress("one")));
    const failing = readResponse(await send(endpoint, options), () => {
      throw new Error("mine");
    });
    await expect(failing).rejects.toThrow("mine");
    await server.exchanges[0]?.closed;
  });

  test("each request carries the headers of the endpoint and of its era", async () => {
    const { endpoint, server, options } = await bench((one) => one.json(done(1)));
    await messagesOf(send(endpoint, options));
    const headers = server.exchanges[0]?.headers ?? {};
    expect(headers).toMatchObject({
      authorization: "Bearer k",
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
      "mcp-protocol-version": era === "2025" ? "2025-11-25" : "2026-07-28",
    });
    if (era === "2025") expect(headers).toMatchObject({ "mcp-session-id": "s-1" });
    else expect(headers).toMatchObject({ "mcp-method": "tools/call", "mcp-name": "slow" });
    expect("mcp-method" in headers).toBe(era === "2026");
  });
});
