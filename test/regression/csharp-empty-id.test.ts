// The C# SDK refuses with `"id":""`: such a server could be no upstream under `era: auto`, and its reasons were lost.

import { expect, test } from "vitest";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { gatewayTenant, namesIn, startGatewayWorker } from "../support/gateway-tenant.ts";
import { ScriptedServer, sessionScript, type Exchange } from "../support/scripted-server.ts";

const origin = await startGatewayWorker();
const admin = fixtureAdmin(origin, "csharp");

const NEEDS_SESSION = "Bad Request: A new session can only be created by an initialize request.";
const REASON = "Internal error: the shelf fell down";

function refused(exchange: Exchange, status: number, message: string): void {
  exchange.json({ error: { code: -32000, message }, id: "", jsonrpc: "2.0" }, status);
}

test("a server on the C# SDK is listed, and the reason of its 400 reaches the caller", async () => {
  const inSession = sessionScript(
    "s1",
    (exchange) => {
      if (exchange.headers["mcp-session-id"] !== "s1") refused(exchange, 400, NEEDS_SESSION);
      else if (exchange.name === "tools/call") refused(exchange, 400, REASON);
      else exchange.result({ tools: [{ name: "shelf", inputSchema: { type: "object" } }] });
    },
    { tools: {} },
  );
  const endpoint = await ScriptedServer.start(inSession);
  const tenant = await gatewayTenant(origin, admin, { books: { url: endpoint.url } });
  const client = await tenant.client();
  expect(namesIn((await client.request("tools/list")).result)).toEqual(["books__shelf"]);
  const { error } = await client.request("tools/call", { name: "books__shelf", arguments: {} });
  expect(error?.message).toContain(REASON);
});
