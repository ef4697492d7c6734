// GET with the id of a session and `MCP-Protocol-Version: 2026-07-28`, which has no streams by GET, opened the session's stream.

import { expect, test } from "vitest";
import { fixtureOrigin } from "../support/fixture-origin.ts";
import { mcpClient } from "../support/mcp-client.ts";
import { sendRaw } from "../support/raw-http.ts";

test.each([
  ["2025-11-25", 200, undefined],
  ["2026-07-28", 405, "POST, OPTIONS"],
])("GET in %s is answered %i", async (revision, status, allow) => {
  const url = `${fixtureOrigin()}/mcp/lab`;
  const { headers } = await mcpClient("2025-11-25", url);
  const sent = { accept: "text/event-stream", "mcp-protocol-version": revision, ...headers };
  const reply = await sendRaw(url, {
    method: "GET",
    headers: { ...sent, "mcp-protocol-version": revision },
    standing: true,
  });
  expect([reply.status, reply.headers.allow]).toEqual([status, allow]);
});
