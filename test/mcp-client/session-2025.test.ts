// A 2025 session: begun by a handshake, kept as plain data, carried on by whoever has the data, ended by DELETE.

import { describe, expect, test } from "vitest";
import { cancel2025 } from "../../src/mcp-client/request-result.ts";
import { sendOneWayWithRetry } from "../../src/mcp-client/channel-2025.ts";
import { paramsOf, resultOf } from "../../src/mcp-client/message.ts";
import { buildRequest2025 } from "../../src/mcp-client/prepared-request.ts";
import { parseSession, type Session2025 } from "../../src/mcp-client/session-2025.ts";
import { end2025, open2025, send2025, streamable2025 } from "../../src/mcp-client/streamable-2025.ts";
import { bench, done, expectNothingLeft, faultOf, messagesOf, progress, SESSION } from "./client-setup.ts";
import { sessionScript, type Exchange, type Json } from "../support/scripted-server.ts";

expectNothingLeft();

const HELLO = { protocolVersion: "2025-11-25", capabilities: { roots: {} }, clientInfo: { name: "t", version: "1" } };
const PING = buildRequest2025({ id: 5, method: "ping", params: {} });

function welcome(one: Exchange, result: Json, headers: Record<string, string> = {}): void {
  if (one.name === "initialize") one.result({ capabilities: {}, serverInfo: {}, ...result }, headers);
  else one.refuse(202);
}

describe("the handshake", () => {
  test("says what the client says, and then that it is done, in the session that was given", async () => {
    const { endpoint, server, options } = await bench(sessionScript("s-9"));
    const { session, response: answer } = await open2025(endpoint, HELLO, "hello", options);
    expect(session).toEqual({ id: "s-9", revision: "2025-11-25", hello: HELLO, capabilities: {} });
    expect(resultOf(answer)).toMatchObject({ serverInfo: { name: "scripted" } });
    expect(server.names).toEqual(["initialize", "notifications/initialized"]);
    const [first, second] = server.exchanges;
    expect(first?.message).toEqual({ jsonrpc: "2.0", id: "hello", method: "initialize", params: HELLO });
    expect(first?.headers).not.toHaveProperty("mcp-session-id");
    expect(first?.headers).not.toHaveProperty("mcp-protocol-version");
    expect(second?.headers).toMatchObject({ "mcp-session-id": "s-9", "mcp-protocol-version": "2025-11-25" });
  });

  test.each(["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])("agrees to %s", async (protocolVersion) => {
    const { endpoint, server, options } = await bench((one) => welcome(one, { protocolVersion }));
    const { session } = await open2025(endpoint, HELLO, 1, options);
    expect(session).toMatchObject({ id: undefined, revision: protocolVersion });
    expect(server.exchanges[1]?.headers).toMatchObject({ "mcp-protocol-version": protocolVersion });
  });

  test.each(["2023-01-01", "1.0", "2025-11-25\r\nx: y", 7, undefined])(
    "does not go on in the revision %s",
    async (protocolVersion) => {
      const { endpoint, server, options } = await bench((one) => welcome(one, { protocolVersion }));
      expect(await faultOf(open2025(endpoint, HELLO, 1, options))).toMatchObject({
        kind: "violation",
        rule: "unknownRevision",
      });
      expect(server.names).toEqual(["initialize"]);
    },
  );

  test.each(["with space", "é", "x".repeat(5000)])("does not take %j for a session id", async (id) => {
    const headers = { "mcp-session-id": Buffer.from(id).toString("latin1") };
    const { endpoint, options } = await bench((one) => welcome(one, { protocolVersion: "2025-11-25" }, headers));
    expect(await faultOf(open2025(endpoint, HELLO, 1, options))).toMatchObject({
      kind: "violation",
      rule: "badSessionId",
    });
  });

  test("is not resumed under what is no session id", async () => {
    const { endpoint, server, options } = await bench();
    const opening = faultOf(open2025(endpoint, HELLO, 1, options));
    const headers = { "mcp-session-id": Buffer.from("s\u00e9 x").toString("latin1") };
    const first = (await server.next("initialize")).stream(headers).raw("retry: 0\n").event("", "e-1");
    expect(await opening).toMatchObject({ kind: "violation", rule: "badSessionId" });
    await first.closed;
    expect(server.names).toEqual(["initialize"]);
  });

  test("fails with the server's error where it is refused, and nothing follows", async () => {
    const { endpoint, server, options } = await bench((one) => one.error(-32600, "No", 200));
    expect(await faultOf(open2025(endpoint, HELLO, 1, options))).toMatchObject({
      kind: "refused",
      error: { error: '{"code":-32600,"message":"No"}' },
    });
    expect(server.exchanges).toHaveLength(1);
  });

  test("may be answered on a stream that breaks, and is resumed in its own session", async () => {
    const { endpoint, server, clock, options } = await bench();
    const opening = open2025(endpoint, HELLO, 1, options);
    const first = await server.next("initialize");
    first.stream({ "mcp-session-id": "s-3" }).raw("retry: 0\n").event("", "e-1").end();
    await clock.untilWaitsFor(0);
    clock.advance(0);
    const again = await server.next("GET");
    expect(again.headers).toMatchObject({ "last-event-id": "e-1", "mcp-session-id": "s-3" });
    again
      .stream()
      .event(done(1, { protocolVersion: "2025-06-18", capabilities: {}, serverInfo: {} }))
      .end();
    (await server.next("notifications/initialized")).refuse(202);
    expect((await opening).session).toMatchObject({ id: "s-3", revision: "2025-06-18" });
  });
});

describe("a session as data", () => {
  test("goes through JSON, and is carried on from there by somebody else", async () => {
    const { endpoint, options } = await bench(sessionScript("s-9"));
    const { session } = await open2025(endpoint, HELLO, "hello", options);
    const first = parseSession(JSON.parse(JSON.stringify(session)));
    expect(first).toEqual(session);
    const other = await bench((one) => one.result({}));
    await messagesOf(send2025({ ...other.endpoint }, first, PING, other.options));
    expect(other.server.exchanges[0]?.headers).toMatchObject({ "mcp-session-id": "s-9" });
  });

  test("has no id where the server gave none, in JSON either", () => {
    const session: Session2025 = { ...SESSION, id: undefined };
    expect(parseSession(JSON.parse(JSON.stringify(session)))).toEqual(session);
  });

  test.each([
    ["nothing", undefined],
    ["a list", []],
    ["no revision", { ...SESSION, revision: undefined }],
    ["a revision with a line break", { ...SESSION, revision: "a\nb" }],
    ["an id that is no text", { ...SESSION, id: 7 }],
    ["an id with a line break", { ...SESSION, id: "a\nb" }],
    ["an empty id", { ...SESSION, id: "" }],
    ["no hello", { ...SESSION, hello: undefined }],
    ["capabilities that are a text", { ...SESSION, capabilities: "all" }],
  ])("is not read from %s", (_what, value) => {
    expect(parseSession(value)).toBeUndefined();
  });
});

describe("the end of a session", () => {
  test.each([
    { status: 200, ended: true },
    { status: 204, ended: true },
    { status: 404, ended: true },
    { status: 405, ended: false },
  ])("is $ended where the server answers $status", async ({ status, ended }) => {
    const { endpoint, server, options } = await bench((one) => one.refuse(status));
    expect(await end2025(endpoint, SESSION, options)).toBe(ended);
    expect(server.exchanges[0]?.headers).toMatchObject({ "mcp-session-id": "s-1", authorization: "Bearer k" });
    expect(server.names).toEqual(["DELETE"]);
  });

  test("is nothing to tell where the server keeps no sessions", async () => {
    const { endpoint, server, options } = await bench();
    expect(await end2025(endpoint, { ...SESSION, id: undefined }, options)).toBe(false);
    expect(server.exchanges).toEqual([]);
  });

  test("fails where the server answers with an error", async () => {
    const { endpoint, options } = await bench((one) => one.refuse(500));
    expect(await faultOf(end2025(endpoint, SESSION, options))).toMatchObject({ kind: "status", http: { status: 500 } });
  });
});

describe("an answer that the server waits for", () => {
  const ANSWER = JSON.stringify({ jsonrpc: "2.0", id: "q", result: {} });

  test("is sent again until it is taken", async () => {
    const { endpoint, server, clock, options } = await bench();
    const told = sendOneWayWithRetry(streamable2025(endpoint, SESSION), ANSWER, { clock, ...options });
    (await server.next("response")).drop();
    await clock.untilWaitsFor(100);
    clock.advance(100);
    (await server.next("response")).refuse(503);
    await clock.untilWaitsFor(500);
    clock.advance(500);
    (await server.next("response")).refuse(202);
    await told;
    expect(server.exchanges.map(({ body }) => body)).toEqual([ANSWER, ANSWER, ANSWER]);
  });

  test("is given up where the server does not want it", async () => {
    const { endpoint, server, clock, options } = await bench((one) => one.refuse(400));
    const told = sendOneWayWithRetry(streamable2025(endpoint, SESSION), ANSWER, { clock, ...options });
    expect(await faultOf(told)).toMatchObject({ kind: "status", http: { status: 400 } });
    expect(server.exchanges).toHaveLength(1);
  });

  test("is given up when the caller goes", async () => {
    const { endpoint, clock, abort, options } = await bench((one) => one.refuse(503));
    const told = faultOf(sendOneWayWithRetry(streamable2025(endpoint, SESSION), ANSWER, { clock, ...options }));
    await clock.untilWaitsFor(100);
    abort.abort();
    expect(await told).toMatchObject({ kind: "status", http: { status: 503 } });
  });
});

test("a request that is cancelled is told to the server by its id, except the first one", async () => {
  const { endpoint, server } = await bench((one) => one.refuse(202));
  await cancel2025(streamable2025(endpoint, SESSION), PING);
  await cancel2025(streamable2025(endpoint, SESSION), { id: 1, method: "initialize" });
  expect(server.names).toEqual(["notifications/cancelled"]);
  expect(server.exchanges[0]?.message["params"]).toEqual({ requestId: 5 });
});

test("a notification on a call's stream is handed over as it is", async () => {
  const { endpoint, options } = await bench((one) => one.stream().event(progress("half")).event(done(5)).end());
  const [note] = await messagesOf(send2025(endpoint, SESSION, PING, options));
  expect(note?.kind === "notification" && paramsOf(note)).toMatchObject({ message: "half" });
});
