// The bridge for local clients, in 2026: headers that repeat the body, subscriptions that outlive their connection.

import { expect, test } from "vitest";
import { claim, StdioClient } from "../../support/stdio-client.ts";
import { type Exchange, type Json, ScriptedServer } from "../../support/scripted-server.ts";

const ID = "io.modelcontextprotocol/subscriptionId";

async function connected(script?: (exchange: Exchange) => void) {
  const endpoint = await ScriptedServer.start(script);
  return { endpoint, client: new StdioClient(["stdio", endpoint.url]) };
}

function tool(name: string, properties: Json): Json {
  return { name, inputSchema: { type: "object", properties } };
}
const REGIONAL = tool("query", {
  region: { type: "string", "x-mcp-header": "Region" },
  deep: { type: "object", properties: { id: { type: "integer", "x-mcp-header": "Deep-Id" } } },
});
const listed = (...tools: Json[]) => ({ resultType: "complete", tools, ttlMs: 0, cacheScope: "private" });
const query = (id: number, args: Json) => claim(id, "tools/call", { name: "query", arguments: args });

test.each([
  { method: "tools/list", params: {}, name: undefined },
  { method: "prompts/get", params: { name: "plan" }, name: "plan" },
  { method: "resources/read", params: { uri: "note://Köln" }, name: "=?base64?bm90ZTovL0vDtmxu?=" },
])("$method carries the headers that its body asks for, and no session", async ({ method, params, name }) => {
  const { endpoint, client } = await connected((one) => one.result({ resultType: "complete" }));
  client.send(claim("a", method, params));
  expect(await client.next()).toEqual({ jsonrpc: "2.0", id: "a", result: { resultType: "complete" } });
  const { headers } = await endpoint.next(method);
  expect(headers).toMatchObject({ "mcp-protocol-version": "2026-07-28", "mcp-method": method });
  expect(headers["mcp-name"]).toBe(name);
  expect(headers).not.toHaveProperty("mcp-session-id");
  expect(await client.end()).toEqual({ exit: 0, rest: [] });
  expect(endpoint.names).toEqual([method]);
});

test("arguments are mirrored by the list that passed by, and each page of it counts", async () => {
  const { endpoint, client } = await connected();
  client.send(claim(1, "tools/list"));
  (await endpoint.next("tools/list")).result(listed(REGIONAL));
  await client.next();
  client.send(query(2, { region: "Köln", deep: { id: 7 } }));
  const { headers } = await endpoint.next("tools/call");
  expect(headers).toMatchObject({
    "mcp-name": "query",
    "mcp-param-region": "=?base64?S8O2bG4=?=",
    "mcp-param-deep-id": "7",
  });
  expect(endpoint.names).toEqual(["tools/list", "tools/call"]);
  await client.interrupt();
});

test("a tool that was never listed is looked for first, in all pages, in the client's name, once", async () => {
  const { endpoint, client } = await connected((one) => {
    if (one.name === "tools/call") return one.result({ resultType: "complete", content: [] });
    const { cursor } = one.message["params"] as Json;
    one.result(cursor === undefined ? { ...listed(), nextCursor: "more" } : listed(REGIONAL));
  });
  client.send(query(1, { region: "eu" }));
  expect(await client.next()).toMatchObject({ id: 1 });
  client.send(claim(2, "tools/call", { name: "unknown" }));
  await client.next();
  client.send(claim(3, "tools/call", { name: "unknown" }));
  await client.next();
  expect((await endpoint.next("tools/call")).headers["mcp-param-region"]).toBe("eu");
  expect(endpoint.names.filter((name) => name === "tools/list")).toHaveLength(4);
  const about = (await endpoint.next("tools/list")).message["params"] as Json;
  expect(about["_meta"]).toMatchObject({ "io.modelcontextprotocol/clientInfo": { name: "test" } });
  expect(await client.end()).toEqual({ exit: 0, rest: [] });
});

test("a tool that has changed since is listed again, and the refused call made with the new headers", async () => {
  const { endpoint, client } = await connected((one) => {
    if (one.name === "tools/list")
      return one.result(listed(endpoint.exchanges.length === 1 ? tool("query", {}) : REGIONAL));
    if (one.headers["mcp-param-region"] === undefined) return one.error(-32020, "Header mismatch", 400);
    one.result({ resultType: "complete", content: [] });
  });
  client.send(query(1, { region: "eu" }));
  expect(await client.next()).toMatchObject({ id: 1, result: { content: [] } });
  expect(endpoint.names).toEqual(["tools/list", "tools/call", "tools/list", "tools/call"]);
  await client.end();
});

test("a mismatch that a new list does not explain is the answer", async () => {
  const { endpoint, client } = await connected((one) =>
    one.name === "tools/list" ? one.result(listed(REGIONAL)) : one.error(-32020, "Header mismatch", 400),
  );
  client.send(query(1, { region: "eu" }));
  expect(await client.next()).toMatchObject({ id: 1, error: { code: -32020 } });
  expect(endpoint.names.filter((name) => name === "tools/call")).toHaveLength(1);
  await client.end();
});

const header = (value: unknown, type = "string") => ({ a: { type, "x-mcp-header": value } });
test.each([
  { why: "no name", properties: header("") },
  { why: "a space in it", properties: header("a b") },
  { why: "a number", properties: header("A", "number") },
  { why: "the same name twice", properties: { ...header("A"), b: { type: "string", "x-mcp-header": "a" } } },
  { why: "inside of an array", properties: { list: { type: "array", items: { properties: header("A") } } } },
  { why: "inside of anyOf", properties: { any: { anyOf: [{ properties: header("A") }] } } },
])("a tool whose header has $why is taken out of the list, and the log says so", async ({ properties }) => {
  const { client } = await connected((one) => one.result(listed(tool("bad", properties), REGIONAL)));
  client.send(claim(1, "tools/list"));
  expect(await client.next()).toEqual({ jsonrpc: "2.0", id: 1, result: listed(REGIONAL) });
  await client.untilLogged("tool bad is left out");
  await client.end();
});

test("a property that is named x-mcp-header, or a default that says so, is no annotation", async () => {
  const odd = tool("odd", { "x-mcp-header": { type: "string" }, a: { default: { "x-mcp-header": 1 } } });
  const { client } = await connected((one) => one.result(listed(odd)));
  client.send(claim(1, "tools/list"));
  expect(await client.next()).toMatchObject({ result: { tools: [odd] } });
  await client.end();
});

test("progress is streamed as it comes, a server's question is not passed on, the answer ends it", async () => {
  const { endpoint, client } = await connected();
  client.send(claim(1, "prompts/get", { name: "p" }));
  const progress = { jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: 1, progress: 1 } };
  const exchange = (await endpoint.next("prompts/get")).stream().event(progress);
  expect(await client.next()).toEqual(progress);
  exchange.event({ jsonrpc: "2.0", id: "q", method: "sampling/createMessage", params: {} });
  exchange.event({ jsonrpc: "2.0", id: 1, result: { resultType: "complete", messages: [] } });
  expect(await client.next()).toMatchObject({ id: 1 });
  await client.end();
});

test("a stream that ends without an answer is an error, whatever ids its events had", async () => {
  const { endpoint, client } = await connected();
  client.send(claim(1, "prompts/get", { name: "p" }));
  (await endpoint.next("prompts/get")).stream().event("", "e-1").end();
  expect(await client.next()).toMatchObject({ id: 1, error: { code: -32603 } });
  expect(endpoint.names).toEqual(["prompts/get"]);
  await client.end();
});

test("cancelling closes the request, posts nothing, and no answer comes any more", async () => {
  const { endpoint, client } = await connected();
  client.send(claim(1, "prompts/get", { name: "p" }), claim("1", "prompts/get", { name: "p" }));
  const exchange = await endpoint.next("prompts/get");
  const other = await endpoint.next("prompts/get");
  const [number, string] = exchange.message["id"] === 1 ? [exchange, other] : [other, exchange];
  client.send({ method: "notifications/cancelled", params: { requestId: 1 } });
  await number?.closed;
  string?.result({ resultType: "complete", messages: [] });
  expect(await client.end()).toMatchObject({ exit: 0, rest: [{ id: "1" }] });
  expect(endpoint.names).toEqual(["prompts/get", "prompts/get"]);
});

const FILTER = { toolsListChanged: true, promptsListChanged: true, resourceSubscriptions: ["note://1"] };
const listen = claim("l", "subscriptions/listen", { notifications: FILTER });
const acknowledged = (notifications: Json = FILTER) => ({
  jsonrpc: "2.0",
  method: "notifications/subscriptions/acknowledged",
  params: { _meta: { [ID]: "l" }, notifications },
});
const changed = (what: string, more: Json = {}) => ({
  jsonrpc: "2.0",
  method: `notifications/${what}`,
  params: { _meta: { [ID]: "l" }, ...more },
});

async function listening() {
  const { endpoint, client } = await connected();
  client.send(listen);
  const exchange = (await endpoint.next("subscriptions/listen")).stream().raw("retry: 5\n").event(acknowledged());
  expect(await client.next()).toEqual(acknowledged());
  return { endpoint, client, exchange };
}

test("a subscription passes on what it announces until the server ends it with a result", async () => {
  const { client, exchange } = await listening();
  exchange.raw(":\r\n\r\n").event(changed("tools/list_changed"));
  expect(await client.next()).toEqual(changed("tools/list_changed"));
  const result = { jsonrpc: "2.0", id: "l", result: { resultType: "complete", _meta: { [ID]: "l" } } };
  exchange.event(result).end();
  expect(await client.next()).toEqual(result);
  expect(await client.end()).toEqual({ exit: 0, rest: [] });
});

test("a subscription whose connection breaks is made again, and all it may have missed is announced", async () => {
  const { endpoint, client, exchange } = await listening();
  exchange.drop();
  const again = await endpoint.next("subscriptions/listen");
  expect(again.body).toBe(JSON.stringify({ jsonrpc: "2.0", ...listen }));
  again.stream().event(acknowledged());
  expect(await client.next()).toEqual(changed("tools/list_changed"));
  expect(await client.next()).toEqual(changed("prompts/list_changed"));
  expect(await client.next()).toEqual(changed("resources/updated", { uri: "note://1" }));
  again.event(changed("tools/list_changed"));
  expect(await client.next()).toEqual(changed("tools/list_changed"));
  await client.untilLogged("listening again in 0.005 s");
  client.send({ method: "notifications/cancelled", params: { requestId: "l" } });
  await again.closed;
  expect(await client.end()).toEqual({ exit: 0, rest: [] });
  expect(endpoint.names).toEqual(["subscriptions/listen", "subscriptions/listen"]);
});

test.each([
  {
    what: "announces less than before",
    answer: (one: Exchange) => one.stream().event(acknowledged({ ...FILTER, toolsListChanged: false })),
    error: { code: -32603, message: "the server no longer announces toolsListChanged" },
  },
  {
    what: "refuses",
    answer: (one: Exchange) => one.error(-32600, "Permission denied", 403),
    error: { code: -32600, message: "Permission denied" },
  },
])("a subscription that is made again where the server $what ends with an error", async ({ answer, error }) => {
  const { endpoint, client, exchange } = await listening();
  exchange.end();
  answer(await endpoint.next("subscriptions/listen"));
  expect(await client.next()).toEqual({ jsonrpc: "2.0", id: "l", error });
  expect(await client.end()).toEqual({ exit: 0, rest: [] });
});

test("a subscription waits for a server that is down for a while", async () => {
  const { endpoint, client, exchange } = await listening();
  exchange.end();
  (await endpoint.next("subscriptions/listen")).error(-32603, "Service unavailable", 503);
  (await endpoint.next("subscriptions/listen")).stream().event(acknowledged());
  expect(await client.next()).toEqual(changed("tools/list_changed"));
  await client.interrupt();
});

test.each([
  { what: "refused", answer: (one: Exchange) => one.error(-32601, "Method not found", 404), code: -32601 },
  { what: "unavailable", answer: (one: Exchange) => one.refuse(503), code: -32603 },
  { what: "ended before it began", answer: (one: Exchange) => one.stream().end(), code: -32603 },
  { what: "cut before it began", answer: (one: Exchange) => one.drop(), code: -32603 },
])("a subscription that is $what is not tried again", async ({ answer, code }) => {
  const { endpoint, client } = await connected(answer);
  client.send(listen);
  expect(await client.next()).toMatchObject({ id: "l", error: { code } });
  await client.end();
  expect(endpoint.names).toEqual(["subscriptions/listen"]);
});

test("an open subscription does not keep the bridge when stdin closes", async () => {
  const { client, exchange } = await listening();
  expect(await client.end()).toEqual({ exit: 0, rest: [] });
  await exchange.closed;
});

test.each(["tools/list", "subscriptions/listen"])(
  "why %s is refused at the door is said on stderr too",
  async (method) => {
    const endpoint = await ScriptedServer.start((one) => one.error(-32600, "Unauthorized", 401));
    const client = new StdioClient(["stdio", endpoint.url, "--key", "bad"]);
    client.send(claim(1, method));
    expect(await client.next()).toMatchObject({ id: 1, error: { message: "Unauthorized" } });
    await client.end();
    expect(client.stderr).toContain(
      `tenantry: ${method}: Unauthorized (the key of --key was refused; give no key if the endpoint is open)\n`,
    );
  },
);

test("a refusal of a server for other reasons reaches the client as it is", async () => {
  const endpoint = await ScriptedServer.start((one) => one.error(-32601, "Method not found", 404));
  const client = new StdioClient(["stdio", endpoint.url]);
  client.send(claim(1, "lab/unknown"));
  expect(await client.next()).toMatchObject({ id: 1, error: { code: -32601 } });
  await client.end();
  expect(client.stderr).not.toContain("Method not found");
});
