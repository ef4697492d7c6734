// A cancellation that overtakes its call stops a resumable one too: it is neither run nor answered.

import { expect, test } from "vitest";
import { fixtureOrigin } from "../support/fixture-origin.ts";
import { client2025, post } from "../support/mcp-client.ts";

const url = `${fixtureOrigin()}/mcp/conformance`;

test("a resumable call that was cancelled before it came is not answered, and the next one of its id is", async () => {
  const client = await client2025(url, "2025-06-18");
  const { revision, headers } = client;
  const body = { jsonrpc: "2.0", id: "overtaken", method: "tools/call", params: { name: "test_reconnection" } };
  const call = () => post(url, body, { headers: { ...headers }, revision, method: "tools/call" });
  expect((await client.notify("notifications/cancelled", { requestId: "overtaken" })).status).toBe(202);
  const cancelled = await call();
  expect([cancelled.status, cancelled.messages]).toEqual([200, []]);
  const answered = await call();
  expect(JSON.stringify(answered.result)).toContain("survived");
});
