// The HTTP+SSE transport of 2024-11-05: one GET stream for messages of the server, POSTs for those of the client.

import { describe, expect, test } from "vitest";
import { fixtureOrigin } from "../../support/fixture-origin.ts";
import { mcpClient, post, type Json } from "../../support/mcp-client.ts";
import { connectSse, HELLO, initializeSse as begin } from "../../support/sse-connection.ts";

const origin = fixtureOrigin();
const lab = `${origin}/mcp/lab`;

const connect = (url = lab, headers: Record<string, string> = {}) => connectSse(url, { headers });

describe("a stream", () => {
  test("begins with its endpoint, which keeps what else the URL says", async () => {
    const { endpoint } = await connect(`${lab}?colour=blue`);
    const { pathname, searchParams } = new URL(endpoint);
    expect(pathname).toBe("/mcp/lab");
    expect(searchParams.get("colour")).toBe("blue");
    expect(searchParams.get("sessionId")).toMatch(/^\w+\./);
  });

  test("answers what is posted, each under its id", async () => {
    const connection = await connect();
    await begin(connection);
    await connection.request(1, "ping");
    const listed = await connection.request("two", "tools/list");
    expect((listed.result as Json).tools).toBeInstanceOf(Array);
    const failed = await connection.request(3, "nothing/such");
    expect(failed.error).toMatchObject({ code: -32601 });
  });

  test("opens whatever version its request names, as a client that reconnects does", async () => {
    const connection = await connect(lab, { "mcp-protocol-version": "2025-06-18" });
    const { status } = await connection.send({ jsonrpc: "2.0", id: 1, method: "ping" });
    expect(status).toBe(202);
    expect(await connection.stream.message()).toEqual({ jsonrpc: "2.0", id: 1, result: {} });
  });

  test("shows progress before the answer", async () => {
    const connection = await connect();
    await begin(connection);
    await connection.send({
      jsonrpc: "2.0",
      id: 5,
      method: "tools/call",
      params: { name: "lab_steps", arguments: { steps: 2 }, _meta: { progressToken: "p" } },
    });
    const answer = [await connection.stream.message(), await connection.stream.message()];
    expect(answer.every(({ method }) => method === "notifications/progress")).toBe(true);
    expect(await connection.stream.message()).toMatchObject({ id: 5 });
  });
});

const YES = { action: "accept", content: { yes: true } };

describe("a client that comes back", () => {
  test("is shown the result of a resumable call once, and not again", async () => {
    const url = `${origin}/mcp/conformance`;
    const before = await connect(url);
    await begin(before);
    await before.send({ jsonrpc: "2.0", id: "long", method: "tools/call", params: { name: "test_reconnection" } });
    await before.stream.close();
    const after = await connect(url, { "last-event-id": before.endpointId });
    const event = await after.event("long");
    expect(event.message.result).toMatchObject({ content: [{ text: "The answer survived the reconnection." }] });
    await after.stream.close();
    const later = await connect(url, { "last-event-id": event.id });
    expect((await later.soFar()).filter(({ id }) => id === "long")).toEqual([]);
    const twice = await connect(url, { "last-event-id": before.endpointId });
    expect((await twice.soFar()).filter(({ id }) => id === "long")).toHaveLength(1);
  });

  test("answers a question that was asked before; the call goes on and what was done once stays done", async () => {
    const before = await connect();
    await before.request("hello", "initialize", HELLO);
    const key = crypto.randomUUID();
    const params = { name: "lab_pay", arguments: { key } };
    await before.send({ jsonrpc: "2.0", id: "pay", method: "tools/call", params });
    const sure = await before.event("elicitation/create");
    await before.stream.close();
    const after = await connect(lab, { "last-event-id": sure.id });
    await after.send({ jsonrpc: "2.0", id: sure.message.id, result: YES });
    await after.send({ jsonrpc: "2.0", id: sure.message.id, result: { action: "decline" } });
    const thanks = await after.event("elicitation/create");
    expect(thanks.message.id).not.toBe(sure.message.id);
    await after.send({ jsonrpc: "2.0", id: thanks.message.id, result: YES });
    const paid = await after.event("pay");
    expect(JSON.stringify(paid.message.result)).toContain("receipt");
    expect((await after.soFar()).filter(({ method }) => method === "elicitation/create")).toEqual([]);
  });
});

describe("refused requests", () => {
  test("an unknown session id, or an empty one", async () => {
    for (const session of ["x.AAAA", ""]) {
      const { status, error, id } = await post(`${lab}?sessionId=${session}`, {
        jsonrpc: "2.0",
        id: 1,
        method: "ping",
      });
      expect({ session, status, code: error?.code, id }).toEqual({ session, status: 404, code: -32600, id: 1 });
    }
  });

  test("the endpoint of another tenant", async () => {
    const { endpoint } = await connect();
    const reply = await post(endpoint.replace("/mcp/lab", "/mcp/conformance"), {
      jsonrpc: "2.0",
      id: 1,
      method: "ping",
    });
    expect(reply.status).toBe(404);
  });

  test("a message for a session that holds no stream", async () => {
    const client = await mcpClient("2025-11-25", lab);
    const url = `${lab}?sessionId=${client.headers["mcp-session-id"] ?? ""}`;
    expect((await post(url, { jsonrpc: "2.0", id: 1, method: "ping" })).status).toBe(404);
  });

  test("what is no JSON-RPC, at once", async () => {
    const { endpoint } = await connect();
    expect((await post(endpoint, "{")).error?.code).toBe(-32700);
    expect((await post(endpoint, { id: 1 })).error?.code).toBe(-32600);
  });

  test("a batch in a revision that has none, on the stream", async () => {
    const connection = await connect();
    await begin(connection);
    await connection.send([{ jsonrpc: "2.0", id: 1, method: "ping" }]);
    expect((await connection.stream.message()).error).toMatchObject({ code: -32600 });
  });
});
