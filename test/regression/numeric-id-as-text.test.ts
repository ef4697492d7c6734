// Some servers keep ids as texts and answer 7 with "7", as the official clients take it: the answer was refused.

import { expect, test } from "vitest";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { gatewayTenant, namesIn, startGatewayWorker } from "../support/gateway-tenant.ts";
import { ScriptedServer, sessionScript, type Exchange } from "../support/scripted-server.ts";

const origin = await startGatewayWorker();
const admin = fixtureAdmin(origin, "texts");

test.each([
  ["JSON", (exchange: Exchange, answer: object) => exchange.json({ ...answer })],
  [
    "an event",
    (exchange: Exchange, answer: object) =>
      exchange
        .stream()
        .event({ ...answer })
        .end(),
  ],
])("a numeric id that comes back as text in %s is this id", async (_what, send) => {
  const results: Record<string, object> = {
    "tools/list": { tools: [{ name: "go", inputSchema: { type: "object" } }] },
    "tools/call": { content: [{ type: "text", text: "went" }] },
  };
  const endpoint = await ScriptedServer.start(
    sessionScript(
      "s1",
      (exchange) => {
        const { name, message } = exchange;
        const result = results[name];
        const answer = result ? { result } : { error: { code: -32601, message: "Method not found" } };
        send(exchange, { jsonrpc: "2.0", id: String(message["id"]), ...answer });
      },
      { tools: {} },
    ),
  );
  const tenant = await gatewayTenant(origin, admin, { texts: { url: endpoint.url } });
  const client = await tenant.client();
  expect(namesIn((await client.request("tools/list")).result)).toEqual(["texts__go"]);
  const called = await client.request("tools/call", { name: "texts__go", arguments: {} });
  expect(called.result).toMatchObject({ content: [{ text: "went" }] });
});
