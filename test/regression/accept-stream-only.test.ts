// A client that accepts nothing but streams is answered with one, whatever it asked.

import { expect, test } from "vitest";
import { fixtureOrigin } from "../support/fixture-origin.ts";
import { ERAS, encodeHeader, post } from "../support/mcp-client.ts";

const url = `${fixtureOrigin()}/mcp/founding`;
const accept = "text/event-stream";

test.each(ERAS)("a call of era $era is answered by a stream of one event", async ({ era, revision }) => {
  const meta = {
    "io.modelcontextprotocol/protocolVersion": revision,
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const params = { name: "calculator", arguments: { operation: "add", a: 1, b: 2 } };
  const headers = {
    accept,
    "mcp-protocol-version": revision,
    ...(era === "2026" ? { "mcp-method": "tools/call", "mcp-name": encodeHeader("calculator") } : {}),
  };
  const body = {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: era === "2026" ? { ...params, _meta: meta } : params,
  };
  const reply = await post(url, body, { headers, revision, method: "tools/call" });
  expect(reply.headers.get("content-type")).toBe("text/event-stream");
  expect(reply.messages).toHaveLength(1);
  expect(JSON.stringify(reply.result)).toContain("3");
});

test("initialize gives its session with the stream", async () => {
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } };
  const body = { jsonrpc: "2.0", id: 1, method: "initialize", params };
  const reply = await post(url, body, { headers: { accept }, revision: "2025-11-25", method: "initialize" });
  expect(reply.headers.get("content-type")).toBe("text/event-stream");
  expect(reply.headers.get("mcp-session-id")).toMatch(/./);
  expect(reply.result.protocolVersion).toBe("2025-11-25");
});

test("a body that is no UTF-8 is no JSON, and nothing of it is stored", async () => {
  const text = '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"x":"?"}}';
  const bytes = Buffer.from(text);
  bytes[text.indexOf("?")] = 0xff;
  const response = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body: bytes });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { code: -32700 } });
});
