// A batch of which a notification failed was answered with one error that has no id, though its requests had run: their
// clients waited for ever, or sent them again.

import { expect, onTestFinished, test } from "vitest";
import { client2025, post, type Json } from "../support/mcp-client.ts";
import { sharedWorkerPair } from "../support/worker-pair.ts";

test("a notification of a batch that fails leaves each request its answer", async () => {
  const workers = await sharedWorkerPair();
  const { one } = workers;
  const url = `${one.origin}/mcp/lab`;
  const { headers } = await client2025(url, "2025-03-26");
  const call = { name: "lab_echo", arguments: { said: "yes" } };
  const batch = [
    { jsonrpc: "2.0", id: "a", method: "tools/call", params: call },
    { jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: "q-1", progress: 1 } },
    { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } },
    { jsonrpc: "2.0", id: "b", method: "ping" },
  ];
  await one.cutOff("SessionObject");
  onTestFinished(() => one.reconnect("SessionObject"));
  const { status, messages } = await post(url, batch, { headers: { ...headers } });
  expect(status).toBe(200);
  expect(messages).toMatchObject([
    { id: "a", result: { content: [{ type: "text", text: '{"said":"yes"}' }] } as Json },
    { id: "b", result: {} },
  ]);
});
