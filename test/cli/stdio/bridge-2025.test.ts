// The bridge for local clients, in 2025: sessions, streams both ways, and all that can go wrong between two ends.

import { expect, test } from "vitest";
import { claim, INITIALIZE, INITIALIZED, StdioClient } from "../../support/stdio-client.ts";
import { type Exchange, type Json, ScriptedServer, sessionScript } from "../../support/scripted-server.ts";

async function connected(rest: (exchange: Exchange) => void = () => {}) {
  const endpoint = await ScriptedServer.start(sessionScript("s-1", rest));
  const client = new StdioClient(["stdio", endpoint.url, "--key", "tnt_1"]);
  client.send(INITIALIZE, INITIALIZED);
  expect(await client.next()).toMatchObject({ id: "hello", result: { protocolVersion: "2025-11-25" } });
  return { endpoint, client };
}

const call = (id: number) => ({ id, method: "tools/call", params: { name: "slow", arguments: {} } });
const progress = (message: string) => ({
  jsonrpc: "2.0",
  method: "notifications/progress",
  params: { progressToken: 1, progress: 1, message },
});
const done = (id: number) => ({ jsonrpc: "2.0", id, result: { content: [] } });

test("a session is opened with what the client says, carried on, and deleted when stdin closes", async () => {
  const { endpoint, client } = await connected((one) => (one.verb === "GET" ? one.refuse(405) : one.result({})));
  client.send({ id: 2, method: "ping" });
  expect(await client.next()).toEqual({ jsonrpc: "2.0", id: 2, result: {} });
  await endpoint.next("GET");
  expect(await client.end()).toEqual({ exit: 0, rest: [] });
  expect(endpoint.names.toSorted()).toEqual(["DELETE", "GET", "initialize", "notifications/initialized", "ping"]);
  expect(endpoint.exchanges[0]?.message).toEqual({ jsonrpc: "2.0", ...INITIALIZE });
  expect(endpoint.exchanges[0]?.headers).not.toHaveProperty("mcp-session-id");
  for (const { headers, name } of endpoint.exchanges) {
    expect(headers.authorization, name).toBe("Bearer tnt_1");
    if (name !== "initialize")
      expect(headers).toMatchObject({ "mcp-session-id": "s-1", "mcp-protocol-version": "2025-11-25" });
  }
});

test("nothing is sent before initialize is answered, and everything after it without waiting", async () => {
  const endpoint = await ScriptedServer.start();
  const client = new StdioClient(["stdio", endpoint.url]);
  client.send(INITIALIZE, INITIALIZED, call(1), call(2));
  const hello = await endpoint.next("initialize");
  expect(endpoint.names).toEqual(["initialize"]);
  endpoint.script = sessionScript("s-1");
  endpoint.script(hello);
  const first = await endpoint.next("tools/call");
  const second = await endpoint.next("tools/call");
  expect(endpoint.names.slice(0, 2)).toEqual(["initialize", "notifications/initialized"]);
  second.json(done(second.message["id"] as number));
  first.json(done(first.message["id"] as number));
  const ids = [(await client.next())["id"], (await client.next())["id"], (await client.next())["id"]];
  expect(ids).toEqual(["hello", second.message["id"], first.message["id"]]);
  await client.end();
});

test("messages pass as they are written, numbers included, each in one line", async () => {
  const { endpoint, client } = await connected();
  const sent =
    '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"n","arguments":{"big":12345678901234567890}}}';
  client.send(sent);
  const exchange = await endpoint.next("tools/call");
  expect(exchange.body).toBe(sent);
  exchange.json('{"jsonrpc":"2.0",\r\n "id":7,\n "result":{"content":[],"x":1.0}}');
  expect(await client.line()).toBe('{"jsonrpc":"2.0",  "id":7,  "result":{"content":[],"x":1.0}}');
  await client.end();
});

test.each([
  { what: "no JSON", line: "nonsense", code: -32700 },
  { what: "an array", line: "[]", code: -32600 },
  { what: "a number", line: "1", code: -32600 },
  { what: "no JSON-RPC", line: '{"id":3,"method":"ping"}', code: -32600, id: 3 },
  { what: "a request with the id null", line: '{"jsonrpc":"2.0","id":null,"method":"ping"}', code: -32600 },
  { what: "a method that is no name", line: '{"jsonrpc":"2.0","id":4,"method":5}', code: -32600, id: 4 },
  { what: "invalid UTF-8", line: Buffer.from([0x22, 0xff, 0x22]), code: -32700 },
  { what: "a line of 9 MiB", line: `"${"x".repeat(9 * 1024 * 1024)}"`, code: -32700 },
])("$what is answered with $code, and the next line is served", async ({ line, code, id = null }) => {
  const endpoint = await ScriptedServer.start((one) => one.result({}));
  const client = new StdioClient(["stdio", endpoint.url]);
  client.send(line, "", "  \r", { id: 9, method: "ping" });
  expect(await client.next()).toMatchObject({ jsonrpc: "2.0", id, error: { code } });
  expect(await client.next()).toEqual({ jsonrpc: "2.0", id: 9, result: {} });
  expect(await client.end()).toEqual({ exit: 0, rest: [] });
  expect(endpoint.names).toEqual(["ping"]);
});

async function connectedIn(revision: string, rest: (exchange: Exchange) => void = (one) => one.result({})) {
  const hello = sessionScript("s-1", rest);
  const result = { protocolVersion: revision, capabilities: {}, serverInfo: { name: "n", version: "1" } };
  const script = (one: Exchange) =>
    one.name === "initialize" ? one.result(result, { "mcp-session-id": "s-1" }) : hello(one);
  const endpoint = await ScriptedServer.start(script);
  const client = new StdioClient(["stdio", endpoint.url]);
  client.send(INITIALIZE, INITIALIZED);
  await client.next();
  return { endpoint, client };
}

test("a batch of 2025-03-26 is answered with one line, its progress before it, and its messages one by one", async () => {
  const { endpoint, client } = await connectedIn("2025-03-26", (one) => {
    if (one.name === "ping") one.result({});
    else if (one.name === "tools/call") one.stream().event(progress("half")).event(done(1)).end();
    else one.refuse(one.verb === "GET" ? 405 : 202);
  });
  const big =
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","arguments":{"n":12345678901234567890}}}';
  client.send(`[${big}, {"jsonrpc":"2.0","method":"notifications/x"}, 5, {"jsonrpc":"2.0","id":2,"method":"ping"}]`);
  expect(await client.next()).toEqual(progress("half"));
  const answers = (await client.next()) as unknown as Json[];
  const ids = answers.map(({ id }) => JSON.stringify(id)).toSorted((one, other) => one.localeCompare(other));
  expect(ids).toEqual(["1", "2", "null"]);
  expect(answers.find(({ id }) => id === null)).toMatchObject({ error: { code: -32600 } });
  expect(endpoint.exchanges.find(({ name }) => name === "tools/call")?.body).toBe(big);
  expect(endpoint.names).toContain("notifications/x");
  expect(await client.end()).toEqual({ exit: 0, rest: [] });
});

test("a batch of notifications is not answered, and one whose only request is cancelled neither", async () => {
  const { endpoint, client } = await connectedIn("2025-03-26", (one) => {
    if (one.verb === "GET") one.refuse(405);
    else if (one.name === "ping") one.result({});
    else if (one.name !== "tools/call") one.refuse(202);
  });
  client.send('[{"jsonrpc":"2.0","method":"notifications/x"}]', `[${JSON.stringify({ jsonrpc: "2.0", ...call(1) })}]`);
  await endpoint.next("tools/call");
  client.send({ method: "notifications/cancelled", params: { requestId: 1 } }, { id: 2, method: "ping" });
  expect(await client.next()).toEqual({ jsonrpc: "2.0", id: 2, result: {} });
  expect(await client.end()).toEqual({ exit: 0, rest: [] });
});

test.each([
  ["of a revision without batches", "2025-11-25", [{ jsonrpc: "2.0", id: 1, method: "ping" }], "2025-11-25 has no"],
  ["with an initialize", "2025-03-26", [{ jsonrpc: "2.0", ...INITIALIZE }], "initialize must not be part"],
  ["of more messages than one may have", "2025-03-26", Array.from({ length: 51 }, () => 1), "not one JSON-RPC"],
])("a batch %s is refused, and nothing of it is sent", async (_what, revision, batch, says) => {
  const { endpoint, client } = await connectedIn(revision);
  const sent = endpoint.names.length;
  client.send(JSON.stringify(batch));
  const error = { code: -32600, message: expect.stringContaining(says) as string };
  expect(await client.next()).toEqual({ jsonrpc: "2.0", id: null, error });
  expect(endpoint.names.slice(sent)).not.toContain("ping");
  await client.end();
});

test("garbage from a 2026 client is logged and not answered", async () => {
  const endpoint = await ScriptedServer.start((one) => one.result({}));
  const client = new StdioClient(["stdio", endpoint.url]);
  client.send(claim(1, "server/discover"));
  await client.next();
  client.send("nonsense");
  await client.untilLogged("a line is not JSON");
  expect(await client.end()).toEqual({ exit: 0, rest: [] });
});

test.each([
  { what: "500 without a word", answer: (one: Exchange) => one.refuse(500), says: "answered 500" },
  {
    what: "HTML",
    answer: (one: Exchange) => one.json("<h1>", 404, { "content-type": "text/html" }),
    says: "(text/html)",
  },
  { what: "half a JSON", answer: (one: Exchange) => one.json('{"jsonrpc"'), says: "not MCP" },
  {
    what: "a redirect",
    answer: (one: Exchange) => one.refuse(307, { location: "https://x.example/" }),
    says: "https://x.example/",
  },
  { what: "401", answer: (one: Exchange) => one.refuse(401), says: "set TENANTRY_KEY or give --key" },
  { what: "a closed connection", answer: (one: Exchange) => one.drop(), says: "the connection was closed" },
  { what: "a stream without an answer", answer: (one: Exchange) => one.stream().end(), says: "without an answer" },
  { what: "a stream that breaks", answer: (one: Exchange) => one.stream().event(progress("x")).drop(), says: "closed" },
  { what: "nothing at all", answer: (one: Exchange) => one.refuse(202), says: "sent no answer" },
])("$what becomes an error with the id of the request", async ({ answer, says }) => {
  const endpoint = await ScriptedServer.start(answer);
  const client = new StdioClient(["stdio", endpoint.url]);
  client.send({ id: "x", method: "ping" });
  const { rest, exit } = await client.end();
  expect(exit).toBe(0);
  const error = { code: -32603, message: expect.stringContaining(says) as string };
  expect(rest.at(-1)).toEqual({ jsonrpc: "2.0", id: "x", error });
  expect(client.stderr).toContain(says);
});

test("a server that is not there is an error for each request, and the bridge goes on", async () => {
  const endpoint = await ScriptedServer.start();
  await endpoint.stop();
  const client = new StdioClient(["stdio", endpoint.url]);
  client.send(INITIALIZE);
  expect(await client.next()).toMatchObject({ id: "hello", error: { code: -32603 } });
  client.send({ id: 2, method: "ping" });
  const refused = expect.stringContaining("connection refused") as string;
  expect(await client.next()).toMatchObject({ id: 2, error: { message: refused } });
  expect((await client.end()).exit).toBe(0);
});

test("an error that a server gives no id gets that of the request", async () => {
  const endpoint = await ScriptedServer.start((one) =>
    one.json({ jsonrpc: "2.0", id: null, error: { code: -32003, message: "Suspended" } }, 403),
  );
  const client = new StdioClient(["stdio", endpoint.url]);
  client.send({ id: 5, method: "ping" });
  expect(await client.next()).toEqual({ jsonrpc: "2.0", id: 5, error: { code: -32003, message: "Suspended" } });
  await client.end();
});

test("notifications and questions on a call's stream reach the client, its responses the server", async () => {
  const { endpoint, client } = await connected();
  client.send(call(1));
  const exchange = await endpoint.next("tools/call");
  const question = { jsonrpc: "2.0", id: "q", method: "elicitation/create", params: { message: "Sure?" } };
  exchange.stream().event(progress("half")).event(question);
  expect(await client.next()).toEqual(progress("half"));
  expect(await client.next()).toEqual(question);
  client.send({ id: "q", result: { action: "decline" } });
  const response = await endpoint.next("response");
  expect(response.message).toMatchObject({ id: "q", result: { action: "decline" } });
  expect(response.headers["mcp-session-id"]).toBe("s-1");
  response.refuse(202);
  exchange.event(done(1)).end();
  expect(await client.next()).toEqual(done(1));
  client.send({ id: "q", result: { action: "accept" } });
  await client.untilLogged('ignored a response to "q"');
  await client.end();
});

test("the standing stream is opened after initialized, and opened again where it stopped, when the server says", async () => {
  const { endpoint, client } = await connected();
  const changed = { jsonrpc: "2.0", method: "notifications/tools/list_changed" };
  const first = await endpoint.next("GET");
  expect(first.headers).toMatchObject({ accept: "text/event-stream", "mcp-session-id": "s-1" });
  first.stream().raw("retry: 5\n").event(changed, "e-1").end();
  expect(await client.next()).toEqual(changed);
  const second = await endpoint.next("GET");
  expect(second.headers["last-event-id"]).toBe("e-1");
  second.stream().raw(": keep-alive\n\nevent: other\ndata: {}\n\n").event("", "e-2").drop();
  expect((await endpoint.next("GET")).headers["last-event-id"]).toBe("e-2");
  expect(await client.end()).toEqual({ exit: 0, rest: [] });
});

test("a call whose stream breaks is resumed after the last event, as often as the server wants", async () => {
  const { endpoint, client } = await connected();
  client.send(call(1));
  (await endpoint.next("tools/call")).stream().raw("retry: 5\n").event("", "c-1").event(progress("one"), "c-2").drop();
  await endpoint.next("GET");
  const again = await endpoint.next("GET");
  expect(again.headers["last-event-id"]).toBe("c-2");
  again.stream().event(progress("two"), "c-3").end();
  (await endpoint.next("GET")).refuse(503);
  const last = await endpoint.next("GET");
  expect(last.headers["last-event-id"]).toBe("c-3");
  last.stream().event(done(1), "c-4");
  expect([await client.next(), await client.next(), await client.next()]).toEqual([
    progress("one"),
    progress("two"),
    done(1),
  ]);
  await last.closed;
  expect(endpoint.names.filter((name) => name === "tools/call")).toHaveLength(1);
  await client.end();
});

test("a stream that cannot be resumed is an error, and the call is not made twice", async () => {
  const { endpoint, client } = await connected((one) => one.verb === "GET" && one.refuse(405));
  client.send(call(1));
  (await endpoint.next("tools/call")).stream().raw("retry: 5\n").event("", "c-1").end();
  const message = expect.stringContaining("cannot be resumed") as string;
  expect(await client.next()).toMatchObject({ id: 1, error: { message } });
  expect(endpoint.names.filter((name) => name === "tools/call")).toHaveLength(1);
  await client.end();
});

test("a lost session begins anew: same words, level and subscriptions again, then the message", async () => {
  const { endpoint, client } = await connected((one) => (one.verb === "GET" ? one.refuse(405) : one.result({})));
  client.send(
    { id: 2, method: "logging/setLevel", params: { level: "debug" } },
    { id: 3, method: "resources/subscribe", params: { uri: "note://1" } },
    { id: 4, method: "resources/subscribe", params: { uri: "note://2" } },
  );
  for (let count = 0; count < 3; count += 1) await client.next();
  client.send({ id: 5, method: "resources/unsubscribe", params: { uri: "note://2" } });
  await client.next();
  await endpoint.next("GET");
  const before = endpoint.exchanges.length;
  endpoint.script = (one) => {
    if (one.headers["mcp-session-id"] === "s-1") return one.refuse(404);
    sessionScript("s-2", (other) => (other.verb === "GET" ? other.refuse(405) : other.result({ anew: true })))(one);
  };
  client.send({ id: 6, method: "tools/list" }, { id: 7, method: "prompts/list" });
  const answers = [await client.next(), await client.next()];
  expect(answers.map(({ id, result }) => ({ id, result }))).toEqual(
    expect.arrayContaining([6, 7].map((id) => ({ id, result: { anew: true } }))),
  );
  const after = endpoint.exchanges.slice(before).filter(({ verb }) => verb === "POST");
  const anew = after.filter(({ headers }) => headers["mcp-session-id"] !== "s-1");
  expect(anew.map(({ name }) => name).slice(0, 4)).toEqual([
    "initialize",
    "notifications/initialized",
    "logging/setLevel",
    "resources/subscribe",
  ]);
  expect(anew[0]?.message["params"]).toEqual(INITIALIZE.params);
  expect(anew[3]?.message["params"]).toEqual({ uri: "note://1" });
  expect(anew.filter(({ name }) => name === "initialize")).toHaveLength(1);
  expect(anew.at(-1)?.headers["mcp-session-id"]).toBe("s-2");
  expect(await client.end()).toEqual({ exit: 0, rest: [] });
});

test("a session that is lost while only the standing stream is open begins anew too", async () => {
  const { endpoint, client } = await connected();
  const stream = await endpoint.next("GET");
  await endpoint.next("initialize");
  endpoint.script = sessionScript("s-2", (one) => one.headers["mcp-session-id"] === "s-1" && one.refuse(404));
  stream.stream().raw("retry: 5\n").event("", "e-1").end();
  await endpoint.next("initialize");
  await endpoint.next("GET");
  const anew = await endpoint.next("GET");
  expect(anew.headers["mcp-session-id"]).toBe("s-2");
  expect(anew.headers).not.toHaveProperty("last-event-id");
  await client.end();
});

test("a cancelled call is cancelled at the server, closed, and not answered", async () => {
  const { endpoint, client } = await connected((one) => one.name === "notifications/cancelled" && one.refuse(202));
  client.send(call(1));
  const exchange = await endpoint.next("tools/call");
  exchange.stream();
  client.send({ method: "notifications/cancelled", params: { requestId: 1, reason: "enough" } });
  expect((await endpoint.next("notifications/cancelled")).message["params"]).toEqual({
    requestId: 1,
    reason: "enough",
  });
  await exchange.closed;
  expect(await client.end()).toEqual({ exit: 0, rest: [] });
});

test("stdin closes: what is under way is answered first", async () => {
  const { endpoint, client } = await connected();
  client.send(call(1));
  const exchange = await endpoint.next("tools/call");
  const ended = client.end();
  exchange.json(done(1));
  expect(await ended).toEqual({ exit: 0, rest: [done(1)] });
});

test("stdin closes: nobody waits for long for an answer that does not come", async () => {
  const { endpoint, client } = await connected();
  client.send(call(1));
  const exchange = await endpoint.next("tools/call");
  const { exit, rest } = await client.end();
  expect(exit).toBe(0);
  expect(rest).toEqual([]);
  await exchange.closed;
});

test("Ctrl+C ends with 130 at once, the session deleted", async () => {
  const { endpoint, client } = await connected();
  client.send(call(1));
  await endpoint.next("tools/call");
  expect(await client.interrupt()).toBe(130);
  expect(endpoint.names).toContain("DELETE");
});

test("more requests than can wait are refused, each with its id", async () => {
  const { endpoint, client } = await connected();
  client.send(...Array.from({ length: 1001 }, (_, id) => call(id)));
  const message = "too many requests wait for an answer";
  expect(await client.next()).toMatchObject({ id: 1000, error: { message } });
  expect(await client.interrupt()).toBe(130);
  expect(endpoint.names).toContain("initialize");
});

test.each([
  { args: ["acme"], path: "/mcp/acme" },
  { args: ["acme/public"], path: "/mcp/acme/public" },
  { args: [], path: "/mcp" },
])("$args names $path of the server", async ({ args, path }) => {
  const origin = "http://127.0.0.1:1";
  const client = new StdioClient(["stdio", ...args, "--url", origin]);
  await client.untilLogged(`serving ${origin}${path} on`);
  await client.end();
});

test("--url may be the whole endpoint, and --quiet says nothing", async () => {
  const endpoint = await ScriptedServer.start((one) => one.result({}));
  const client = new StdioClient(["stdio", "--url", endpoint.url, "--quiet"], { TENANTRY_KEY: "tnt_2" });
  client.send("nonsense", { id: 1, method: "ping" });
  const { rest } = await client.end();
  expect(rest).toHaveLength(2);
  expect(endpoint.exchanges[0]?.headers.authorization).toBe("Bearer tnt_2");
  expect(client.stderr).toBe("");
});

test.each([
  { args: ["a b"], says: "a b: must be a tenant" },
  { args: ["--state", "x"], says: "only with --local" },
  { args: ["--local", "--url", "http://x"], says: "give one of them" },
  { args: ["--local", "--project", "nowhere"], says: "there is no wrangler.toml or wrangler.jsonc in /nowhere" },
])("$args is a usage error", async ({ args, says }) => {
  const client = new StdioClient(["stdio", ...args]);
  const ended = await client.end();
  expect({ ...ended, says: client.stderr.includes(says) }).toEqual({ exit: 2, rest: [] as Json[], says: true });
});

test.each([
  { status: 404, args: [], says: "initialize: There is no such tenant\n" },
  {
    status: 401,
    args: [],
    says: "initialize: There is no such tenant (no key: set TENANTRY_KEY or give --key-file; tenantry key create TENANT makes a key)\n",
  },
  {
    status: 401,
    args: ["--key", "bad"],
    says: "initialize: There is no such tenant (the key of --key was refused; give no key if the endpoint is open)\n",
  },
  { status: 200, args: [], says: "initialize: There is no such tenant\n" },
])("why a session is refused ($status) is said on stderr too, with what to do", async ({ status, args, says }) => {
  const endpoint = await ScriptedServer.start((one) => one.error(-32600, "There is no such tenant", status));
  const client = new StdioClient(["stdio", endpoint.url, ...args]);
  client.send(INITIALIZE);
  expect(await client.next()).toMatchObject({ id: "hello", error: { message: "There is no such tenant" } });
  await client.end();
  expect(client.stderr).toContain(`tenantry: ${says}`);
});
