// After a reconnect the official client names no last event and does not initialize again.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { ElicitRequestSchema, ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, test } from "vitest";
import { fixtureOrigin } from "../../support/fixture-origin.ts";
import { change, changedUri } from "../../support/sse-connection.ts";

const origin = fixtureOrigin();
const lab = `${origin}/mcp/lab`;
/** What the official client opens its stream with; `cut` ends the connection under it, until another one has begun. */
function cuttable() {
  const connections = new Set<AbortController>();
  const begun: (() => void)[] = [];
  return {
    cut: () => {
      for (const connection of connections) connection.abort();
      connections.clear();
      return new Promise<void>((resolve) => begun.push(resolve));
    },
    fetch: async (url: string | URL, init?: RequestInit) => {
      const abort = new AbortController();
      connections.add(abort);
      const response = await fetch(url, { ...init, signal: abort.signal });
      const reader = response.body?.getReader();
      let seen = "";
      const body = new ReadableStream<Uint8Array>({
        pull: async (controller) => {
          // Asked for more: the client has read what it was given.
          if (seen.includes("event: endpoint")) for (const resolve of begun.splice(0)) setImmediate(resolve);
          const { done, value } = (await reader?.read().catch(() => undefined)) ?? { done: true, value: undefined };
          if (done || !value) return controller.close();
          seen += new TextDecoder().decode(value);
          controller.enqueue(value);
        },
      });
      return new Response(body, response);
    },
  };
}

const FORM = { username: "ada", email: "ada@example.com" };

describe("the official client over its SSE transport", () => {
  test("goes on through a reconnect, with its resumable call, its subscription and its questions", async () => {
    const url = new URL(`${origin}/mcp/conformance?stream=${crypto.randomUUID()}`);
    const line = cuttable();
    const client = new Client({ name: "test", version: "1" }, { capabilities: { elicitation: {} } });
    client.setRequestHandler(ElicitRequestSchema, () => ({ action: "accept", content: FORM }));
    await client.connect(new SSEClientTransport(url, { eventSourceInit: { fetch: line.fetch } }));
    const running = client.callTool({ name: "test_reconnection" });
    await line.cut();
    expect(JSON.stringify((await running).content)).toContain("survived");
    const asked = await client.callTool({ name: "test_elicitation", arguments: { message: "Who?" } });
    expect(JSON.stringify(asked.content)).toContain("ada@example.com");
    await client.close();
  });

  test("gets notifications of its earlier subscriptions after a reconnect", async () => {
    const line = cuttable();
    const client = new Client({ name: "test", version: "1" });
    const key = crypto.randomUUID();
    const uri = changedUri(key);
    const told = new Promise<string>((resolve) => {
      client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
        resolve(params.uri);
      });
    });
    const url = new URL(`${lab}?stream=${crypto.randomUUID()}`);
    await client.connect(new SSEClientTransport(url, { eventSourceInit: { fetch: line.fetch } }));
    await client.subscribeResource({ uri });
    await line.cut();
    await change(lab, key);
    expect(await told).toBe(uri);
    await client.close();
  });

  test("goes on calling after a reconnect under the plain URL", async () => {
    const line = cuttable();
    const client = new Client({ name: "test", version: "1" });
    await client.connect(new SSEClientTransport(new URL(lab), { eventSourceInit: { fetch: line.fetch } }));
    await line.cut();
    expect((await client.listTools()).tools.length).toBeGreaterThan(0);
    await client.close();
  });
});
