// HTTP 404 with -32601 in its body says that there is no such method, not that the session is over.

import { expect, test } from "vitest";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { gatewayTenant, namesIn, startGatewayWorker } from "../support/gateway-tenant.ts";
import { mcpClient, type Json } from "../support/mcp-client.ts";
import { ScriptedServer, sessionScript } from "../support/scripted-server.ts";

const origin = await startGatewayWorker();
const admin = fixtureAdmin(origin, "unknown");

async function upstream(capabilities: Json) {
  const script = sessionScript(
    "s1",
    (exchange) => {
      if (exchange.name === "tools/list") exchange.result({ tools: [{ name: "go", inputSchema: { type: "object" } }] });
      else exchange.error(-32601, `${exchange.name} is unknown here`, 404);
    },
    { tools: {}, ...capabilities },
  );
  const endpoint = await ScriptedServer.start(script);
  return { endpoint, tenant: await gatewayTenant(origin, admin, { plain: { url: endpoint.url } }) };
}

test("a list that is told unknown with 404 takes nothing else away", async () => {
  const { tenant } = await upstream({ prompts: {}, resources: {} });
  const client = await tenant.client();
  expect(namesIn((await client.request("tools/list")).result)).toEqual(["plain__go"]);
});

test("a call that is told unknown with 404 is told so, and its session goes on", async () => {
  const { tenant, endpoint } = await upstream({});
  const { token } = await admin.key(tenant.id);
  const client = await mcpClient("2025-11-25", tenant.url, {}, { authorization: `Bearer ${token}` });
  const call = () => client.request("tools/call", { name: "plain__go", arguments: {} });
  const before = endpoint.names.filter((name) => name === "initialize").length;
  for (const { error } of [await call(), await call()]) {
    expect(error).toMatchObject({
      code: -32601,
      message: expect.stringContaining("tools/call is unknown here") as string,
    });
  }
  expect(endpoint.names.filter((name) => name === "initialize")).toHaveLength(before + 1);
});
