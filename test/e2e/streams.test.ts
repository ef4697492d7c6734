// Streams across isolates: two Workers over the same storage, and the official client of era 2025.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema, ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { beforeAll, expect, it } from "vitest";
import { sharedWorkerPair, type SharedWorkerPair } from "../support/worker-pair.ts";

let workers: SharedWorkerPair;

beforeAll(async () => {
  workers = await sharedWorkerPair();
});

async function connect(origin: string, tenant: string) {
  const client = new Client({ name: "test", version: "1" }, { capabilities: { elicitation: {} } });
  const transport = new StreamableHTTPClientTransport(new URL(`${origin}/mcp/${tenant}`));
  await client.connect(transport);
  return { client, transport };
}

it("tells a subscriber in one Worker what was written in the other, and it never reads an older value", async () => {
  const { client } = await connect(workers.one.origin, "lab");
  const writer = await connect(workers.two.origin, "lab");
  const uri = "lab://ends/streams/began";
  const seen: string[] = [];
  let woken = () => {};
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, async () => {
    const { contents } = await client.readResource({ uri });
    seen.push(contents[0] && "text" in contents[0] ? contents[0].text : "");
    woken();
  });
  const told = new Promise<void>((resolve) => {
    woken = resolve;
  });
  await client.subscribeResource({ uri });
  await writer.client.callTool({ name: "lab_watch", arguments: { key: "streams", forMs: 0, talk: false } });
  await told;
  expect(seen).toEqual(["began"]);
  await Promise.all([client.close(), writer.client.close()]);
});

it("refuses a session everywhere soon after its client ended it, and at once where it did", async () => {
  const { client, transport } = await connect(workers.one.origin, "conformance");
  const id = transport.sessionId ?? "";
  await transport.terminateSession();
  const response = await fetch(`${workers.one.origin}/mcp/conformance`, {
    method: "POST",
    headers: { "content-type": "application/json", "mcp-session-id": id },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
  });
  expect(response.status).toBe(404);
  await client.close();
});

it("puts a question on the call's stream; the answer may come through the other Worker", async () => {
  const { client } = await connect(workers.one.origin, "conformance");
  client.setRequestHandler(ElicitRequestSchema, async () => ({
    action: "accept",
    content: { username: "ada", email: "ada@example.com" },
  }));
  const result = await client.callTool({ name: "test_elicitation", arguments: { message: "Who?" } });
  expect(JSON.stringify(result.content)).toContain("ada@example.com");
  await client.close();
});

it("brings the result of a resumable call to a client whose connection was closed", async () => {
  const { client } = await connect(workers.two.origin, "conformance");
  const result = await client.callTool({ name: "test_reconnection" });
  expect(JSON.stringify(result.content)).toContain("survived");
  await client.close();
});

it("refuses a Last-Event-ID that names no stream of the session", async () => {
  const { client, transport } = await connect(workers.one.origin, "conformance");
  const headers = { accept: "text/event-stream", "mcp-session-id": transport.sessionId ?? "" };
  for (const made of ["0123456789abcdef-1", "x", "n.x"]) {
    const response = await fetch(`${workers.one.origin}/mcp/conformance`, {
      headers: { ...headers, "last-event-id": made },
    });
    expect(response.status).toBe(400);
  }
  await client.close();
});
