// The Python SDK 1.x refuses what it does not understand with HTTP 400 and `"id":"server-error"`: the probe of `era: auto`
// took that for no MCP at all. Within a session its reasons stand behind the same id.

import { expect, test } from "vitest";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { gatewayTenant, namesIn, startGatewayWorker } from "../support/gateway-tenant.ts";
import { ScriptedServer, sessionScript, type Exchange } from "../support/scripted-server.ts";

const origin = await startGatewayWorker();
const admin = fixtureAdmin(origin, "python");

function refused(exchange: Exchange, status: number, code: number, message: string): void {
  exchange.json({ jsonrpc: "2.0", id: "server-error", error: { code, message } }, status);
}

async function books(call: (exchange: Exchange) => void) {
  const inSession = sessionScript(
    "s1",
    (exchange) => {
      if (exchange.headers["mcp-session-id"] !== "s1")
        refused(exchange, 400, -32600, "Bad Request: Missing session ID");
      else if (exchange.name === "tools/call") call(exchange);
      else exchange.result({ tools: [{ name: "shelf", inputSchema: { type: "object" } }] });
    },
    { tools: {} },
  );
  const endpoint = await ScriptedServer.start(inSession);
  const tenant = await gatewayTenant(origin, admin, { books: { url: endpoint.url } });
  return tenant.client();
}

test("a server on the Python SDK 1.x is listed and called", async () => {
  const client = await books((exchange) => exchange.result({ content: [{ type: "text", text: "Dune" }] }));
  const { result } = await client.request("tools/list");
  expect(namesIn(result)).toEqual(["books__shelf"]);
  const called = await client.request("tools/call", { name: "books__shelf", arguments: {} });
  expect(called.result).toMatchObject({ content: [{ text: "Dune" }] });
});

test("the reason of its 500 reaches the caller", async () => {
  const reason = "Error handling POST request: the shelf fell down";
  const client = await books((exchange) => refused(exchange, 500, -32603, reason));
  const { error } = await client.request("tools/call", { name: "books__shelf", arguments: {} });
  expect(error?.message).toContain(reason);
});
