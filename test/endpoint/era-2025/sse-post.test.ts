// A refusal has no status of success: its client would wait for ever.
// https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse

import { beforeAll, describe, expect, test } from "vitest";
import { bearer, fixtureAdmin } from "../../support/fixture-admin.ts";
import { fixtureOrigin } from "../../support/fixture-origin.ts";
import type { Json } from "../../support/mcp-client.ts";
import { sendRaw } from "../../support/raw-http.ts";
import { expectRefusal, type Expected } from "../../support/refusal.ts";
import { connectSse, initializeSse } from "../../support/sse-connection.ts";

const origin = fixtureOrigin();
const admin = fixtureAdmin(origin, "posted");
const lab = `${origin}/mcp/lab`;
const REVISION = "2024-11-05";
const JSON_TYPE = { "content-type": "application/json" };
const PING = { jsonrpc: "2.0", id: 7, method: "ping" };
const CLAIM = { _meta: { "io.modelcontextprotocol/protocolVersion": "2026-07-28" } };
const MIB = 1024 * 1024;

describe("accepted messages", () => {
  test.each([
    ["nothing", {}],
    ["JSON alone", { accept: "application/json" }],
    ["a stream alone", { accept: "text/event-stream" }],
    ["everything", { accept: "*/*" }],
  ])("is answered with an empty 202 where the client accepts %s", async (_what, accept) => {
    const { endpoint, event } = await connectSse(lab);
    const reply = await sendRaw(endpoint, { headers: { ...JSON_TYPE, ...accept }, body: JSON.stringify(PING) });
    expect([reply.status, reply.text, reply.headers["content-type"]]).toEqual([202, "", undefined]);
    expect((await event(7)).message).toHaveProperty("result");
  });

  test("has its answer under its id, of whatever kind", async () => {
    const { request } = await connectSse(lab);
    for (const id of [0, -1, 2 ** 53 - 1, "", "7", "ä😀", "x".repeat(5000)]) {
      expect((await request(id, "ping")).id).toBe(id);
    }
  });

  test("has no answer on the stream where it asks nothing", async () => {
    const { send, soFar } = await connectSse(lab);
    const messages: readonly Json[] = [
      { jsonrpc: "2.0", method: "notifications/initialized" },
      { jsonrpc: "2.0", method: "tools/list" },
      { jsonrpc: "2.0", method: "notifications/progress", params: CLAIM },
      { jsonrpc: "2.0", id: "q-nobody-1.1", result: {} },
      { jsonrpc: "2.0", id: 1, error: {} },
      { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 9 } },
      { jsonrpc: "2.0", method: "notifications/cancelled" },
    ];
    for (const message of messages) {
      const { status, text } = await send(message);
      expect({ message, status, text }).toEqual({ message, status: 202, text: "" });
      expect({ message, said: await soFar() }).toEqual({ message, said: [] });
    }
  });

  test("may be as large as any body, and its answer too", async () => {
    const connection = await connectSse(lab);
    const text = `${'é"'.repeat(MIB / 2)}${"x".repeat(1.9 * MIB)}`;
    expect((await connection.call("large", "lab_echo", { text })).status).toBe(202);
    const { message } = await connection.event("large");
    const [content] = (message.result as { content: { text: string }[] }).content;
    expect((JSON.parse(content?.text ?? "") as Json).text === text).toBe(true);
  });
});

const refusals: [what: string, body: string, expected: Expected, headers?: Record<string, string>][] = [
  ["no JSON", "{", { status: 400, code: -32700 }],
  ["nothing", "", { status: 400, code: -32700 }],
  ["no message", '{"id":1}', { status: 400, code: -32600, id: 1 }],
  [
    "a message of another JSON-RPC",
    '{"jsonrpc":"1.0","id":"a","method":"ping"}',
    { status: 400, code: -32600, id: "a" },
  ],
  ["an empty batch", "[]", { status: 400, code: -32600 }],
  ["a batch without end", JSON.stringify(Array.from({ length: 51 }, () => PING)), { status: 400, code: -32600 }],
  ["a batch that initializes", '[{"jsonrpc":"2.0","id":1,"method":"initialize"}]', { status: 400, code: -32600 }],
  ["what nests without end", `${"[".repeat(3000)}${"]".repeat(3000)}`, { status: 400, code: -32600 }],
  [
    "what is no JSON by its type",
    JSON.stringify(PING),
    { status: 415, code: -32600 },
    { "content-type": "text/plain" },
  ],
  ["what nobody may answer", JSON.stringify(PING), { status: 406, code: -32600 }, { accept: "text/html" }],
  ["a foreign page", JSON.stringify(PING), { status: 403, code: -32600 }, { origin: "https://evil.example" }],
];

describe("refused messages", () => {
  test.each(refusals)("%s", async (_what, body, expected, headers = {}) => {
    const { endpoint, soFar } = await connectSse(lab);
    expectRefusal(await sendRaw(endpoint, { headers: { ...JSON_TYPE, ...headers }, body }), REVISION, expected);
    expect(await soFar()).toEqual([]);
  });

  test("more than a body may have, before it ends", async () => {
    const { endpoint, soFar } = await connectSse(lab);
    const headers = { ...JSON_TYPE, "content-length": 4 * MIB + 1 };
    const reply = await sendRaw(endpoint, { headers, body: [" "], unfinished: true });
    expectRefusal(reply, REVISION, { status: 413, code: -32600 });
    expect(await soFar()).toEqual([]);
  });

  test("a request of era 2026, whose answers this transport cannot carry", async () => {
    const { endpoint, soFar } = await connectSse(lab);
    const body = JSON.stringify({ ...PING, params: CLAIM });
    const reply = await sendRaw(endpoint, { headers: JSON_TYPE, body });
    expectRefusal(reply, "2026-07-28", { status: 400, code: -32020, id: 7 });
    expect(await soFar()).toEqual([]);
  });

  test("a message without an open stream, unless the client reconnects meanwhile", async () => {
    const url = `${lab}?stream=${crypto.randomUUID()}`;
    const { endpoint, stream } = await connectSse(url);
    await stream.close();
    const send = () => sendRaw(endpoint, { headers: JSON_TYPE, body: JSON.stringify(PING) });
    // Until the server has seen it go.
    let reply = await send();
    while (reply.status === 202) reply = await send();
    expectRefusal(reply, REVISION, { status: 404, code: -32600, id: 7 });
    const [{ status }, after] = await Promise.all([send(), connectSse(url)]);
    expect(status).toBe(202);
    expect((await after.event(7)).message).toHaveProperty("result");
  });

  test("more than this tenant lets a body have, before it reaches a stream", async () => {
    const tenant = await admin.tenant({ limits: { bodyBytes: 2000 } });
    const { endpoint, soFar } = await connectSse(`${origin}/mcp/${tenant}`);
    const body = JSON.stringify({ ...PING, params: { more: "x".repeat(2000) } });
    expectRefusal(await sendRaw(endpoint, { headers: JSON_TYPE, body }), REVISION, { status: 413, code: -32600 });
    expect(await soFar()).toEqual([]);
  });
});

describe("a sender", () => {
  let url: string;
  let tenant: string;
  beforeAll(async () => {
    tenant = await admin.tenant({ mode: "key" });
    url = `${origin}/mcp/${tenant}`;
  });

  const postAs = (endpoint: string, headers: Record<string, string>) =>
    sendRaw(endpoint, { headers: { ...JSON_TYPE, ...headers }, body: JSON.stringify(PING) });

  test("brings the key of the stream: none, a wrong one and another principal's are refused", async () => {
    const [{ token }, other] = [await admin.key(tenant), await admin.key(tenant)];
    const { endpoint, soFar } = await connectSse(url, { headers: bearer(token) });
    const none = await postAs(endpoint, {});
    expectRefusal(none, REVISION, { status: 401, code: -32003 });
    expect(none.headers["www-authenticate"]).toContain("Bearer");
    expectRefusal(await postAs(endpoint, bearer(`${token}x`)), REVISION, { status: 401, code: -32003 });
    expectRefusal(await postAs(endpoint, bearer(other.token)), REVISION, { status: 404, code: -32600, id: 7 });
    expect(await soFar()).toEqual([]);
  });

  test("may do so no more when the key is revoked: the stream has ended by then", async () => {
    const { token, id } = await admin.key(tenant);
    const { endpoint, stream } = await connectSse(url, { headers: bearer(token) });
    await admin.ask("DELETE", `/tenants/${tenant}/keys/${id}`);
    expect(await stream.next()).toBeUndefined();
    expectRefusal(await postAs(endpoint, bearer(token)), REVISION, { status: 401, code: -32003 });
  });

  test("may do so no more when the tenant is suspended", async () => {
    const closed = await admin.tenant();
    const { endpoint, stream } = await connectSse(`${origin}/mcp/${closed}`);
    await admin.suspend(closed, "tenant", undefined, "unpaid");
    expect(await stream.next()).toBeUndefined();
    expectRefusal(await postAs(endpoint, {}), REVISION, { status: 403, code: -32003 });
  });
});

test("an endpoint is found by any client that resolves it against its stream's URL, as it stands", async () => {
  const { endpoint } = await connectSse(`${lab}/?a=1&stream=${"n".repeat(16)}&b=%2F%26`);
  const { pathname, searchParams, origin: at } = new URL(endpoint);
  expect([at, pathname, searchParams.get("a"), searchParams.get("b")]).toEqual([origin, "/mcp/lab/", "1", "/&"]);
  // Of a query some clients escape everything that is not in here, and some nothing.
  expect(searchParams.get("sessionId")).toMatch(/^[\w.~-]+$/);
  expect(searchParams.has("stream")).toBe(false);
});

test("a client that answers before it reads is not misunderstood", async () => {
  const connection = await connectSse(lab);
  await connection.send({ jsonrpc: "2.0", id: "hello", method: "initialize", params: {} });
  await initializeSse(connection);
  await connection.call("ask", "lab_ask", { kind: "form" });
  // No question has this id, and none ever will.
  expect((await connection.send({ jsonrpc: "2.0", id: "ask", result: { action: "decline" } })).status).toBe(202);
  const { message } = await connection.event("elicitation/create");
  await connection.send({ jsonrpc: "2.0", id: message.id, result: { action: "accept", content: { yes: true } } });
  expect((await connection.event("ask")).message.result).toMatchObject({ content: [{ text: '{"yes":true}' }] });
});
