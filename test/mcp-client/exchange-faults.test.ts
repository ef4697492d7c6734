// Every way in which a server can fail to answer, in both eras: which fault it is, what is kept of it, and whether the request
// may have reached the server. Nothing is left behind by any of them.

import { describe, expect, test } from "vitest";
import { McpFault } from "../../src/mcp-client/fault.ts";
import { MAX_CONTAINERS } from "../../src/protocol/jsonrpc.ts";
import { bench, done, expectNothingLeft, faultOf, messagesOf, progress, WAYS } from "./client-setup.ts";
import type { Exchange, Json } from "../support/scripted-server.ts";

expectNothingLeft();

const MEBIBYTE = 1024 * 1024;
const html = { "content-type": "text/html; charset=utf-8" };

interface Case {
  readonly what: string;
  readonly answer: (one: Exchange) => void;
  readonly fault: Json;
}

const CASES: readonly Case[] = [
  {
    what: "a connection that is closed before an answer",
    answer: (one) => one.drop(),
    fault: { kind: "lost", stage: "headers", sent: "perhaps" },
  },
  {
    what: "a connection that is reset within the head",
    answer: (one) => one.wire("HTTP/1.1 200 OK\r\nContent-Ty").reset(),
    fault: { kind: "lost", stage: "headers", sent: "perhaps" },
  },
  {
    what: "an answer that is no HTTP",
    answer: (one) => one.wire("SSH-2.0-OpenSSH_9.6\r\n\r\n").reset(),
    fault: { kind: "lost", stage: "headers", sent: "perhaps" },
  },
  {
    what: "a connection that is reset within a JSON body",
    answer: (one) =>
      one.wire("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{").drop(),
    fault: { kind: "lost", stage: "body", sent: "yes" },
  },
  {
    what: "a page",
    answer: (one) => one.json("<h1>Welcome</h1>", 200, html),
    fault: { kind: "notMcp", http: { status: 200, contentType: "text/html" }, sent: "yes" },
  },
  {
    what: "a text without a type",
    answer: (one) => one.json("hello", 200, { "content-type": "" }),
    fault: { kind: "notMcp", http: { status: 200, contentType: "" } },
  },
  {
    what: "half a JSON",
    answer: (one) => one.json('{"jsonrpc":"2.0","id":1,"result":{}'),
    fault: { kind: "violation", rule: "invalidJson", sent: "yes" },
  },
  {
    what: "JSON that is no JSON-RPC",
    answer: (one) => one.json({ status: "ok" }),
    fault: { kind: "violation", rule: "notJsonRpc" },
  },
  {
    what: "an answer to another request",
    answer: (one) => one.json(done(2)),
    fault: { kind: "violation", rule: "wrongId" },
  },
  {
    what: "an answer to a request whose id begins alike",
    answer: (one) => one.json(done("1a")),
    fault: { kind: "violation", rule: "wrongId" },
  },
  {
    what: "two answers in one body",
    answer: (one) => one.json(JSON.stringify([done(1), done(1, { another: true })])),
    fault: { kind: "violation", rule: "answeredTwice" },
  },
  {
    what: "a stream of something else",
    answer: (one) => one.stream().raw("data: hello\n\n").end(),
    fault: { kind: "unanswered" },
  },
  {
    what: "a stream with an answer to another request",
    answer: (one) => one.stream().event(progress("half")).event(done("other")).end(),
    fault: { kind: "unanswered" },
  },
  {
    what: "a stream that ends without an answer",
    answer: (one) => one.stream().event(progress("half")).end(),
    fault: { kind: "unanswered", http: { status: 200, contentType: "text/event-stream" } },
  },
  {
    what: "a stream that ends in the middle of the answer",
    answer: (one) =>
      one
        .stream()
        .raw(`data: ${JSON.stringify(done(1))}\n`)
        .end(),
    fault: { kind: "unanswered" },
  },
  {
    what: "a stream that is reset",
    answer: (one) => one.stream().event(progress("half")).drop(),
    fault: { kind: "lost", stage: "body", sent: "yes" },
  },
  {
    what: "nothing at all",
    answer: (one) => one.refuse(200),
    fault: { kind: "unanswered", http: { status: 200 } },
  },
  {
    what: "202, which promises an answer to nobody",
    answer: (one) => one.refuse(202),
    fault: { kind: "unanswered", http: { status: 202 } },
  },
  {
    what: "401",
    answer: (one) =>
      one.json("no", 401, { ...html, "www-authenticate": 'Bearer resource_metadata="https://a.example"' }),
    fault: { kind: "status", http: { status: 401, wwwAuthenticate: 'Bearer resource_metadata="https://a.example"' } },
  },
  {
    what: "403 in JSON that is no JSON-RPC",
    answer: (one) => one.json({ detail: "Forbidden" }, 403),
    fault: { kind: "status", http: { status: 403, contentType: "application/json" } },
  },
  {
    what: "429",
    answer: (one) => one.refuse(429, { "retry-after": "7" }),
    fault: { kind: "status", http: { status: 429, retryAfter: "7" } },
  },
  {
    what: "401 whose body breaks off",
    answer: (one) =>
      one
        .wire(
          "HTTP/1.1 401 No\r\nwww-authenticate: Bearer\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{",
        )
        .drop(),
    fault: { kind: "status", http: { status: 401, wwwAuthenticate: "Bearer" } },
  },
  {
    what: "429 with far too much to say",
    answer: (one) => one.json({ error: "x".repeat(9 * MEBIBYTE) }, 429, { "retry-after": "7" }),
    fault: { kind: "status", http: { status: 429, retryAfter: "7" } },
  },
  { what: "500", answer: (one) => one.json("oops", 500, html), fault: { kind: "status", http: { status: 500 } } },
  {
    what: "503 with a stream",
    answer: (one) => one.json("data: x\n\n", 503, { "content-type": "text/event-stream", "retry-after": "1" }),
    fault: { kind: "status", http: { status: 503, retryAfter: "1" } },
  },
  {
    what: "a redirect to another origin",
    answer: (one) => one.refuse(307, { location: "https://elsewhere.example/mcp?a=b" }),
    fault: { kind: "redirect", http: { status: 307 }, location: "https://elsewhere.example/mcp?a=b" },
  },
  {
    what: "a redirect to nowhere",
    answer: (one) => one.refuse(302),
    fault: { kind: "redirect", location: undefined },
  },
];

describe.each(WAYS)("era $era", ({ era, send, tell }) => {
  test.each(CASES)("$what is a fault of its own kind, and the request is sent once", async ({ answer, fault }) => {
    const { endpoint, server, options } = await bench(answer);
    const found = await faultOf(messagesOf(send(endpoint, options)));
    expect(found).toMatchObject(fault);
    expect(server.names).toEqual(["tools/call"]);
  });

  test("a server that is not there is unreachable, and the request was not sent", async () => {
    const { endpoint, server, options } = await bench();
    await server.stop();
    const fault = await faultOf(send(endpoint, options));
    expect(fault).toEqual({ kind: "unreachable", code: "ECONNREFUSED", sent: "no" });
  });

  test.each([
    { what: "to another host", status: 308, location: "//other.example/mcp", to: "http://other.example/mcp" },
    { what: "to another port", status: 307, location: "http://127.0.0.1:1/mcp", to: "http://127.0.0.1:1/mcp" },
    {
      what: "to a blob of the origin",
      status: 307,
      location: "blob:http://127.0.0.1/x",
      to: "blob:http://127.0.0.1/x",
    },
    { what: "with a name and a password", status: 307, location: "http://a:b@127.0.0.1/", to: "http://a:b@127.0.0.1/" },
  ])("a redirect $what is told as a whole URL, and not followed", async ({ status, location, to }) => {
    const { endpoint, server, options } = await bench((one) => one.refuse(status, { location }));
    expect(await faultOf(send(endpoint, options))).toMatchObject({ kind: "redirect", location: to });
    expect(server.exchanges).toHaveLength(1);
  });

  test("a redirect that would make a GET of the request is not followed", async () => {
    const { endpoint, server, options } = await bench((one) => one.refuse(301, { location: "/elsewhere" }));
    expect(await faultOf(send(endpoint, options))).toMatchObject({ kind: "redirect" });
    expect(server.exchanges).toHaveLength(1);
  });

  test("a redirect within the origin is followed with the same request, five times at most", async () => {
    const { endpoint, server, options } = await bench((one) => {
      const step = Number(one.path.slice(1)) || 0;
      if (step < 5) one.refuse(307, { location: `/${step + 1}` });
      else one.result({});
    });
    expect(await messagesOf(send(endpoint, options))).toHaveLength(1);
    const [first, ...others] = server.exchanges;
    expect(others).toHaveLength(5);
    for (const { body, headers } of others) {
      expect(body).toBe(first?.body);
      expect(headers.authorization).toBe("Bearer k");
    }
    server.script = (one) => one.refuse(307, { location: "/again" });
    expect(await faultOf(send(endpoint, options))).toMatchObject({ kind: "redirect" });
  });

  test("a redirect frees its connection before the next request", async () => {
    const { endpoint, options } = await bench((one) => {
      const step = Number(one.path.slice(1)) || 0;
      if (step < 5) one.refuse(307, { location: `/${step + 1}` });
      else one.result({});
    });
    let open = 0;
    const seen: number[] = [];
    const counted: typeof endpoint.fetch = async (url, init) => {
      open += 1;
      seen.push(open);
      const onEnd = (run: () => void) =>
        init.onEnd?.(() => {
          open -= 1;
          run();
        });
      return endpoint.fetch(url, { ...init, onEnd });
    };
    await messagesOf(send({ ...endpoint, fetch: counted }, options));
    expect([seen, open]).toEqual([[1, 1, 1, 1, 1, 1], 0]);
  });

  test("a response to another request is passed over, on a stream and in a batch", async () => {
    const { endpoint, server, options } = await bench((one) => one.stream().event(done(2)).event(done(1)).end());
    expect(await messagesOf(send(endpoint, options))).toMatchObject([{ id: 1 }]);
    server.script = (one) => one.json(JSON.stringify([done(2), done(1)]));
    expect(await messagesOf(send(endpoint, options))).toMatchObject([{ id: 1 }]);
  });

  test("a numeric id that comes back as text is this id", async () => {
    const { endpoint, server, options } = await bench((one) => one.json(done("1")));
    expect(await messagesOf(send(endpoint, options))).toHaveLength(1);
    server.script = (one) => one.stream().event(done("1")).end();
    expect(await messagesOf(send(endpoint, options))).toHaveLength(1);
  });

  test.each(["server-error", "", null, 7, undefined])(
    "an HTTP error with the id %j answers its request",
    async (id) => {
      const error = { code: -32603, message: "the shelf fell down" };
      const { endpoint, options } = await bench((one) => one.json({ jsonrpc: "2.0", id, error }, 500));
      expect(await messagesOf(send(endpoint, options))).toMatchObject([{ error: JSON.stringify(error) }]);
    },
  );

  test.each([
    { type: "application/json", body: '{"detail":"Not authenticated"}', reason: "Not authenticated" },
    { type: "application/problem+json", body: '{"title":"No","detail":"too late"}', reason: "too late" },
    { type: "application/json", body: '{"error":"invalid_token","error_description":"expired"}', reason: "expired" },
    { type: "text/plain", body: '{"error":{"code":-32600,"message":"no session"}}', reason: "no session" },
    { type: "text/plain", body: "the shelf\n fell \u0007 down", reason: "the shelf fell down" },
    { type: "text/html", body: "<h1>Bad gateway</h1>", reason: undefined },
    { type: "application/json", body: "[]", reason: undefined },
  ])("the reason in $body is kept", async ({ type, body, reason }) => {
    const headers = { "content-type": type, "content-length": String(body.length) };
    const { endpoint, options } = await bench((one) => one.json(body, 502, headers));
    expect(await faultOf(send(endpoint, options))).toMatchObject({ kind: "status", reason });
  });

  test("404 says in a session that it is gone, and elsewhere only itself", async () => {
    const error = { jsonrpc: "2.0", id: "server-error", error: { code: -32001, message: "Session not found" } };
    const { endpoint, server, options } = await bench((one) => one.json("<h1>", 404, html));
    const plain = await faultOf(send(endpoint, options));
    server.script = (one) => one.json(error, 404);
    const [spoken] = await Promise.allSettled([messagesOf(send(endpoint, options))]);
    if (era === "2025") {
      expect(plain).toMatchObject({ kind: "sessionGone", error: undefined, sent: "yes" });
      expect(spoken).toMatchObject({
        reason: { fault: { kind: "sessionGone", error: { error: JSON.stringify(error.error) } } },
      });
    } else {
      expect(plain).toMatchObject({ kind: "status", http: { status: 404 } });
      expect(spoken).toMatchObject({ value: [{ kind: "response" }] });
    }
    server.script = (one) => one.error(-32601, "Method not found", 404);
    expect(await messagesOf(send(endpoint, options))).toMatchObject([{ kind: "response" }]);
  });

  test.each([
    { status: 200, id: 1 },
    { status: 400, id: 1 },
    { status: 401, id: null },
    { status: 500, id: undefined },
  ])("an error of JSON-RPC with $status and the id $id is an answer, whole", async ({ status, id }) => {
    const error = { code: -32603, message: "No", data: { why: ["x"] } };
    const { endpoint, options } = await bench((one) =>
      one.json({ jsonrpc: "2.0", id, error }, status, { "www-authenticate": "Bearer" }),
    );
    const reply = await send(endpoint, options);
    expect(reply.http).toMatchObject({ status, wwwAuthenticate: "Bearer" });
    expect(await messagesOf(reply)).toMatchObject([{ kind: "response", error: JSON.stringify(error) }]);
  });

  test("an error on a stream is an answer too", async () => {
    const { endpoint, options } = await bench((one) =>
      one
        .stream()
        .event({ jsonrpc: "2.0", id: 1, error: { code: 1, message: "No" } })
        .end(),
    );
    expect(await messagesOf(send(endpoint, options))).toMatchObject([{ kind: "response", id: 1, result: undefined }]);
  });

  test.each([
    { what: "a JSON body that says how long it is", answer: (one: Exchange, text: string) => one.json(text) },
    {
      what: "a JSON body that does not",
      answer: (one: Exchange, text: string) => one.stream({ "content-type": "application/json" }).raw(text).end(),
    },
    { what: "an event", answer: (one: Exchange, text: string) => one.stream().raw(`data: ${text}\n\n`).end() },
  ])("$what of 20 MiB is too large, and not read to its end", async ({ answer }) => {
    const text = JSON.stringify(done(1, { text: "x".repeat(20 * MEBIBYTE) }));
    const { endpoint, server, options } = await bench((one) => answer(one, text));
    const fault = await faultOf(messagesOf(send(endpoint, options)));
    expect(fault).toEqual({ kind: "tooLarge", what: "message", limitBytes: 8 * MEBIBYTE, sent: "yes" });
    await server.exchanges[0]?.closed;
  });

  test.each([
    { what: "a JSON body", answer: (one: Exchange, text: string) => one.json(text) },
    { what: "an event", answer: (one: Exchange, text: string) => one.stream().raw(`data: ${text}\n\n`) },
  ])("$what is too large with more objects and lists than may be parsed, however few bytes", async ({ answer }) => {
    const dense = (count: number) =>
      JSON.stringify(done(1, { content: [], text: '"{[' })).replace("[]", `[${"[],".repeat(count)}"{["]`);
    // The message, its result and the list are three.
    const most = await bench((one) => answer(one, dense(MAX_CONTAINERS - 3)));
    expect(await messagesOf(send(most.endpoint, most.options))).toMatchObject([{ kind: "response", id: 1 }]);
    const { endpoint, server, options } = await bench((one) => answer(one, dense(MAX_CONTAINERS - 2)));
    const fault = await faultOf(messagesOf(send(endpoint, options)));
    expect(fault).toEqual({ kind: "tooLarge", what: "message", limitContainers: MAX_CONTAINERS, sent: "yes" });
    await server.exchanges[0]?.closed;
  });

  test("a stream of small events that never ends is too large as a whole", async () => {
    const { endpoint, server, options } = await bench(undefined, { responseBytes: 10_000 });
    const reading = faultOf(messagesOf(send(endpoint, options)));
    const exchange = (await server.next("tools/call")).stream();
    for (let count = 0; count < 1000; count += 1) exchange.event(progress(String(count)));
    expect(await reading).toEqual({ kind: "tooLarge", what: "response", limitBytes: 10_000, sent: "yes" });
    await exchange.closed;
  });

  test("a notification is taken by any success", async () => {
    for (const answer of [
      (one: Exchange) => one.refuse(202),
      (one: Exchange) => one.refuse(204),
      (one: Exchange) => one.json("Accepted", 202, { "content-type": "text/plain" }),
      (one: Exchange) => one.json("OK", 200, { "content-type": "text/plain" }),
      (one: Exchange) => one.json("null", 200),
      (one: Exchange) => one.stream(),
    ]) {
      const { endpoint, server, options } = await bench(answer);
      await tell(endpoint, options);
      expect(server.exchanges).toHaveLength(1);
      await server.exchanges[0]?.closed;
    }
  });

  test("a notification that is refused is a fault with the server's own error", async () => {
    const error = { code: -32600, message: "No" };
    const { endpoint, options } = await bench((one) => one.json({ jsonrpc: "2.0", error }, 400));
    expect(await faultOf(tell(endpoint, options))).toMatchObject({
      kind: "refused",
      http: { status: 400 },
      error: { error: JSON.stringify(error) },
    });
  });

  test("a fault that the injected fetch throws is thrown as it is", async () => {
    const { endpoint, options } = await bench();
    const blocked = new McpFault({ kind: "unreachable", code: "BLOCKED", sent: "no" });
    expect(await faultOf(send({ ...endpoint, fetch: async () => Promise.reject(blocked) }, options))).toBe(
      blocked.fault,
    );
  });

  test("a platform without words for what went wrong leaves open whether the request was sent", async () => {
    const { endpoint, options } = await bench();
    const fetch = async () => Promise.reject(new Error("Network connection lost."));
    expect(await faultOf(send({ ...endpoint, fetch }, options))).toEqual({
      kind: "lost",
      stage: "headers",
      code: undefined,
      sent: "perhaps",
    });
  });

  test("an answer that comes when nobody waits any more is discarded", async () => {
    const { endpoint, abort, options } = await bench();
    let cancelled = () => {};
    const discarded = new Promise<void>((resolve) => (cancelled = resolve));
    let arrive = (_response: Response) => {};
    // A platform that does not hear the signal.
    const fetch = async () => new Promise<Response>((resolve) => (arrive = resolve));
    const work = faultOf(send({ ...endpoint, fetch }, options));
    abort.abort();
    expect(await work).toEqual({ kind: "cancelled", sent: "perhaps" });
    arrive(new Response(new ReadableStream({ cancel: () => cancelled() })));
    await discarded;
  });

  test("a certificate that is not trusted was sent nothing", async () => {
    const { endpoint, options } = await bench();
    const fetch = async () => Promise.reject(new TypeError("fetch failed", { cause: tlsError() }));
    expect(await faultOf(send({ ...endpoint, fetch }, options))).toMatchObject({ kind: "unreachable", sent: "no" });
  });
});

function tlsError(): Error {
  return Object.assign(new Error("self-signed certificate"), { code: "DEPTH_ZERO_SELF_SIGNED_CERT" });
}
