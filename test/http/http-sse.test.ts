// The HTTP+SSE transport of 2024-11-05: one GET stream for everything the server says, POSTs for what the client says.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { ElicitRequestSchema, ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterEach, describe, expect, inject, test } from "vitest";
import { openEvents, type EventReader } from "../support/event-reader.ts";
import { post, type Json } from "../support/mcp.ts";
import { expectOfficial } from "../support/official-schema.ts";

const origin = inject("fixtureOrigin");
const lab = `${origin}/mcp/lab`;
const open: EventReader[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((stream) => stream.close()));
});

interface Connection {
  readonly stream: EventReader;
  readonly endpoint: string;
  readonly endpointId: string;
  send(message: Json): ReturnType<typeof post>;
  request(id: unknown, method: string, params?: Json): Promise<Json>;
}

async function connect(url = lab, headers: Record<string, string> = {}): Promise<Connection> {
  const stream = await openEvents(url, { headers });
  open.push(stream);
  const first = await stream.next();
  expect(first?.event).toBe("endpoint");
  const endpoint = new URL(first?.data ?? "", url).href;
  const send = (message: Json) => post(endpoint, message, { headers });
  return {
    stream,
    endpoint,
    endpointId: first?.id ?? "",
    send,
    request: async (id, method, params) => {
      const { status } = await send({ jsonrpc: "2.0", id, method, ...(params ? { params } : {}) });
      expect(status).toBe(202);
      const message = await stream.message((one) => one.id === id);
      expectOfficial("2024-11-05", message, { direction: "server", method });
      return message;
    },
  };
}

const HELLO = { protocolVersion: "2024-11-05", capabilities: { roots: {} }, clientInfo: { name: "test", version: "1" } };

async function begin(connection: Connection): Promise<void> {
  const { result } = await connection.request("hello", "initialize", HELLO);
  expect(result).toMatchObject({ protocolVersion: "2024-11-05" });
  await connection.send({ jsonrpc: "2.0", method: "notifications/initialized" });
}

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
    const said = [await connection.stream.message(), await connection.stream.message()];
    expect(said.every(({ method }) => method === "notifications/progress")).toBe(true);
    expect(await connection.stream.message()).toMatchObject({ id: 5 });
  });
});
