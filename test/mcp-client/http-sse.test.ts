// HTTP+SSE of 2024-11-05: everything comes on one stream, which says where to post. What was asked fails when it ends.

import { expect, test } from "vitest";
import { handshake } from "../../src/mcp-client/channel-2025.ts";
import { openHttpSse } from "../../src/mcp-client/http-sse.ts";
import { resultOf } from "../../src/mcp-client/message.ts";
import { buildRequest2025 } from "../../src/mcp-client/prepared-request.ts";
import { readResponse } from "../../src/mcp-client/mcp-reply.ts";
import { bench, done, expectNothingLeft, faultOf, messagesOf, progress } from "./client-setup.ts";
import type { Exchange } from "../support/scripted-server.ts";
import type { RemoteEndpoint } from "../../src/mcp-client/remote-endpoint.ts";

expectNothingLeft();

const ping = (id: string | number) => buildRequest2025({ id, method: "ping", params: {} });
const POST = "event: endpoint\ndata: /post?sessionId=7\n\n";

async function connected(script: (exchange: Exchange) => void = () => {}, about: Partial<RemoteEndpoint> = {}) {
  const made = await bench((one) => (one.verb === "GET" ? one.stream().raw(POST) : script(one)));
  const taken: string[] = [];
  let wake = () => {};
  const connection = await openHttpSse({ ...made.endpoint, ...about }, made.options);
  const stopListening = connection.listen?.((message) => {
    taken.push(message.text);
    wake();
  });
  const stream = await made.server.next("GET");
  /** Until all is read that was written before. */
  const read = async () => {
    const marked = new Promise<void>((resolve) => (wake = resolve));
    stream.event(progress("mark"));
    await marked;
  };
  return { ...made, connection, stream, taken, read, stopListening };
}

/** As servers of this transport do: taken here, answered there. */
const accept = (one: Exchange): void => one.json("Accepted", 202, { "content-type": "text/plain" });

test("the stream says where to post, and answers there come under their ids, in any order", async () => {
  const { server, connection, stream, endpoint } = await connected(accept);
  expect(stream.headers).toMatchObject({ accept: "text/event-stream", authorization: "Bearer k" });
  const [first, second] = await Promise.all([connection.send(ping(1)), connection.send(ping("two"))]);
  expect(server.exchanges.slice(1).map(({ path }) => path)).toEqual(["/post?sessionId=7", "/post?sessionId=7"]);
  expect(server.exchanges[1]?.headers).toMatchObject({ authorization: "Bearer k", "content-type": "application/json" });
  stream.event(done("two", { a: 2 })).event(done(1, { a: 1 }));
  expect((await readResponse(first)).result).toBe('{"a":1}');
  expect((await readResponse(second)).result).toBe('{"a":2}');
  expect(new URL(endpoint.url).origin).toContain("127.0.0.1");
  connection.close();
  await stream.closed;
});

test("an answer that comes before the post is answered is the answer", async () => {
  const { server, connection, stream, read } = await connected();
  const sending = connection.send(ping(1));
  const post = await server.next("ping");
  stream.event(done(1));
  await read();
  accept(post);
  expect(await messagesOf(sending)).toMatchObject([{ kind: "response", id: 1 }]);
  connection.close();
});

test("messages of the server are handed over in order, and an answer to nobody is dropped", async () => {
  const { connection, stream, taken } = await connected(accept);
  const question = { jsonrpc: "2.0", id: "q", method: "roots/list" };
  stream.event(progress("one")).event(done("nobody")).event(question).raw("event: other\ndata: x\n\n").event(done(1));
  await messagesOf(connection.send(ping(1)));
  expect(taken).toEqual([JSON.stringify(progress("one")), JSON.stringify(question)]);
  connection.close();
});

test("a ping is answered and a question refused while nobody listens", async () => {
  const { server, connection, stream, stopListening } = await connected(accept);
  stopListening?.();
  stream.event({ jsonrpc: "2.0", id: "p", method: "ping" }).event({ jsonrpc: "2.0", id: 0, method: "roots/list" });
  const answers = [await server.next("response"), await server.next("response")].map(({ message }) => message);
  expect(answers).toContainEqual({ jsonrpc: "2.0", id: "p", result: {} });
  expect(answers).toContainEqual({
    jsonrpc: "2.0",
    id: 0,
    error: { code: -32601, message: "This client does not support roots/list" },
  });
  connection.close();
});

test("a notification is posted and waits for nothing", async () => {
  const { server, connection } = await connected(accept);
  await connection.sendOneWay('{"jsonrpc":"2.0","method":"notifications/initialized"}');
  expect(server.exchanges.at(-1)?.body).toBe('{"jsonrpc":"2.0","method":"notifications/initialized"}');
  connection.close();
});

test("a session is begun over it as over any other transport", async () => {
  const { server, connection, stream } = await connected(accept);
  const hello = { protocolVersion: "2024-11-05", capabilities: {}, clientInfo: { name: "t", version: "1" } };
  const opening = handshake(() => connection, hello, 1);
  await server.next("initialize");
  stream.event(done(1, { protocolVersion: "2024-11-05", capabilities: { tools: {} }, serverInfo: {} }));
  const { session, response: answer } = await opening;
  expect(session).toEqual({ id: undefined, revision: "2024-11-05", hello, capabilities: { tools: {} } });
  expect(resultOf(answer)).toMatchObject({ protocolVersion: "2024-11-05" });
  expect(server.names).toEqual(["GET", "initialize", "notifications/initialized"]);
  connection.close();
});

test.each([
  { what: "another origin", data: "https://elsewhere.example/post", rule: "foreignEndpoint" },
  { what: "another port", data: "http://127.0.0.1:1/post", rule: "foreignEndpoint" },
  { what: "a script", data: "javascript:alert(1)", rule: "foreignEndpoint" },
  { what: "a file", data: "file:///etc/passwd", rule: "foreignEndpoint" },
  { what: "no URL", data: "http://", rule: "noEndpoint" },
])("a stream that wants messages at $what is left", async ({ data, rule }) => {
  const { endpoint, server, options } = await bench((one) => one.stream().raw(`event: endpoint\ndata: ${data}\n\n`));
  const opening = openHttpSse(endpoint, options);
  expect(await faultOf(opening)).toMatchObject({ kind: "violation", rule });
  await server.exchanges[0]?.closed;
});

test.each([
  { what: "the blob of", to: (origin: string) => `blob:${origin}/uuid` },
  { what: "somebody's name and password at", to: (origin: string) => origin.replace("//", "//x:y@") },
  { what: "somebody's name at", to: (origin: string) => origin.replace("//", "//x@") },
  { what: "a password at", to: (origin: string) => origin.replace("//", "//:y@") },
])("a stream that wants messages at $what its own origin is left, and nothing is posted", async ({ to }) => {
  const { endpoint, server, options } = await bench();
  const opening = faultOf(openHttpSse(endpoint, options));
  const data = to(new URL(endpoint.url).origin);
  const stream = (await server.next("GET")).stream().raw(`event: endpoint\ndata: ${data}\n\n`);
  const detail = "the endpoint event must have a URL of the stream's origin without a user name";
  const location = new URL(data).href;
  expect(await opening).toMatchObject({ kind: "violation", rule: "foreignEndpoint", detail, location });
  await stream.closed;
  expect(server.names).toEqual(["GET"]);
});

test.each([
  { what: "nothing and ends", answer: (one: Exchange) => one.stream().end(), kind: "violation" },
  { what: "405", answer: (one: Exchange) => one.refuse(405), kind: "status" },
  { what: "a page", answer: (one: Exchange) => one.json("<h1>", 200, { "content-type": "text/html" }), kind: "notMcp" },
])("a server that says $what is no server of this transport", async ({ answer, kind }) => {
  const { endpoint, options } = await bench(answer);
  expect(await faultOf(openHttpSse(endpoint, options))).toMatchObject({ kind });
});

test("a server that never says where to post is not waited for", async () => {
  const { endpoint, server, clock, options } = await bench((one) => one.stream().raw(": hello\n\n"));
  const limits = { headersMs: 1000, silenceMs: 9000 };
  const opening = faultOf(openHttpSse(endpoint, { ...options, limits }));
  await clock.untilWaitsFor(9000);
  clock.advance(1000);
  expect(await opening).toEqual({ kind: "timeout", stage: "headers", afterMs: 1000, sent: "yes" });
  await server.exchanges[0]?.closed;
});

test("requests fail when the stream ends, and nothing more is sent", async () => {
  const { server, connection, stream } = await connected(accept);
  const waiting = faultOf(messagesOf(await connection.send(ping(1))));
  stream.end();
  const fault = await waiting;
  expect(fault).toMatchObject({ kind: "lost", stage: "body", sent: "yes" });
  expect((await connection.closed)?.fault).toMatchObject({ kind: "lost" });
  const later = await faultOf(connection.send(ping(2)));
  expect(later).toMatchObject({ kind: "lost", sent: "no" });
  expect(await faultOf(connection.sendOneWay("{}"))).toMatchObject({ sent: "no" });
  expect(server.names).toEqual(["GET", "ping"]);
});

test("requests are cancelled when the connection is closed from here, and its end has no reason", async () => {
  const { connection, stream } = await connected(accept);
  const waiting = faultOf(messagesOf(await connection.send(ping(1))));
  connection.close();
  expect(await waiting).toEqual({ kind: "cancelled", sent: "yes" });
  expect(await connection.closed).toBeUndefined();
  await stream.closed;
});

test.each([
  { what: "the stream ends", kind: "lost" },
  { what: "it is closed from here", kind: "cancelled" },
] as const)("when $what, posts that are not answered yet fail and are broken off", async ({ kind }) => {
  const { server, connection, stream } = await connected();
  const asking = faultOf(connection.send(ping(1)));
  const asked = await server.next("ping");
  const telling = faultOf(connection.sendOneWay('{"jsonrpc":"2.0","method":"notifications/told"}'));
  const exchange = await server.next("notifications/told");
  if (kind === "lost") stream.end();
  else connection.close();
  for (const fault of [await asking, await telling]) expect(fault).toMatchObject({ kind, sent: "perhaps" });
  await Promise.all([asked.closed, exchange.closed]);
});

test("an event that is no message is skipped, and counted, and what follows is read", async () => {
  const skipped: string[] = [];
  const { server, connection, stream } = await connected(accept, { onSkipped: (why) => skipped.push(why) });
  const waiting = messagesOf(connection.send(ping(1)));
  await server.next("ping");
  stream.raw("data: {\n\n").raw('data: {"type":"heartbeat"}\n\n').event(done("1"));
  expect(await waiting).toHaveLength(1);
  expect(skipped).toHaveLength(2);
  connection.close();
  await stream.closed;
});

test("a post that is refused is a fault, and nobody waits for its answer any more", async () => {
  const { connection, stream, server } = await connected((one) => one.refuse(503));
  expect(await faultOf(connection.send(ping(1)))).toMatchObject({ kind: "status", http: { status: 503 } });
  stream.event(done(1));
  server.script = accept;
  stream.event(done(2));
  expect(await messagesOf(connection.send(ping(2)))).toHaveLength(1);
  connection.close();
});

test("a post that finds no session says that it is gone", async () => {
  const { connection } = await connected((one) => one.json("Session not found", 404, { "content-type": "text/plain" }));
  expect(await faultOf(connection.send(ping(1)))).toMatchObject({ kind: "sessionGone", sent: "yes" });
  expect(await faultOf(connection.sendOneWay("{}"))).toMatchObject({ kind: "sessionGone" });
  connection.close();
});

test.each([
  { as: "JSON", answer: (one: Exchange) => one.result({ here: true }) },
  {
    as: "a stream",
    answer: (one: Exchange) =>
      one
        .stream()
        .event(progress("half"))
        .event(done(1, { here: true }))
        .end(),
  },
])("a server that answers in the post itself, as $as, is understood too", async ({ answer }) => {
  const { connection } = await connected(answer);
  expect((await readResponse(await connection.send(ping(1)))).result).toBe('{"here":true}');
  connection.close();
  connection.close();
  expect(await connection.closed).toBeUndefined();
});

test("an answer that does not come is not waited for, and one that comes later is nobody's", async () => {
  const { connection, stream, server, clock } = await connected(accept);
  const waiting = faultOf(messagesOf(connection.send(ping(1), { limits: { totalMs: 5000 } })));
  await server.next("ping");
  await clock.untilWaitsFor(5000);
  clock.advance(5000);
  expect(await waiting).toMatchObject({ kind: "timeout", stage: "total" });
  stream.event(done(1)).event(done(2));
  expect(await messagesOf(connection.send(ping(2)))).toMatchObject([{ id: 2 }]);
  connection.close();
});

test("a caller who goes leaves the stream to the others", async () => {
  const { connection, stream, server } = await connected(accept);
  const caller = new AbortController();
  const gone = faultOf(messagesOf(connection.send(ping(1), { signal: caller.signal })));
  const stays = messagesOf(connection.send(ping(2)));
  await server.next("ping");
  await server.next("ping");
  caller.abort();
  expect(await gone).toMatchObject({ kind: "cancelled" });
  stream.event(done(2));
  expect(await stays).toHaveLength(1);
  connection.close();
});

test("two requests cannot wait under one id", async () => {
  const { connection, server } = await connected(accept);
  const first = faultOf(messagesOf(connection.send(ping(1))));
  await server.next("ping");
  await expect(connection.send(ping(1))).rejects.toThrow("two pending requests have the id 1");
  connection.close();
  await first;
});

test("an id is free again when its answer has come, read or not", async () => {
  const { connection, stream, read } = await connected(accept);
  const first = await connection.send(ping(1));
  stream.event(done(1, { first: true }));
  await read();
  const second = await connection.send(ping(1));
  expect((await readResponse(first)).result).toBe('{"first":true}');
  stream.event(done(1, { second: true }));
  expect((await readResponse(second)).result).toBe('{"second":true}');
  connection.close();
});

test("nothing is handed over after the connection was closed, though it has arrived already", async () => {
  const { endpoint, server, options } = await bench((one) => one.stream().raw(POST));
  const taken: string[] = [];
  const connection = await openHttpSse(endpoint, options);
  connection.listen?.((message) => {
    taken.push(message.method);
    connection.close();
  });
  const messages = [progress("one"), progress("two")].map((message) => `data: ${JSON.stringify(message)}\n\n`);
  (await server.next("GET")).raw(messages.join(""));
  expect(await connection.closed).toBeUndefined();
  expect(taken).toEqual(["notifications/progress"]);
});

test("the place on the stream is known, for a server that can go on from there", async () => {
  const { connection, stream, endpoint, server, options } = await connected(accept);
  stream.event(done(1), "e-9");
  await messagesOf(connection.send(ping(1)));
  expect(connection.lastEventId).toBe("e-9");
  connection.close();
  const again = await openHttpSse(endpoint, { ...options, lastEventId: connection.lastEventId });
  expect((await server.next("GET")).headers["last-event-id"]).toBe("e-9");
  again.close();
});

test("an error that the listener throws ends the connection, and is its reason", async () => {
  const { endpoint, server, options } = await bench((one) => one.stream().raw(POST));
  const mine = new Error("mine");
  const connection = await openHttpSse(endpoint, options);
  connection.listen?.(async () => Promise.reject(mine));
  (await server.next("GET")).event(progress("x"));
  expect((await connection.closed)?.cause).toBe(mine);
  await server.exchanges[0]?.closed;
});
