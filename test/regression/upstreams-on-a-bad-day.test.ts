// Found by letting upstreams have a bad day: what a broken list had left out was counted once more with each reading, a server
// with one session id for each credential lost the session just begun, and an error of the call itself that came with 404 had
// the call run twice.

import { describe, expect, test } from "vitest";
import { bearer, fixtureAdmin } from "../support/fixture-admin.ts";
import { gatewayTenant, namesIn, startGatewayWorker } from "../support/gateway-tenant.ts";
import { mcpClient, type Json } from "../support/mcp-client.ts";
import { OneToolUpstream, textResult } from "./one-tool-upstream.ts";
import { ScriptedServer, sessionScript } from "../support/scripted-server.ts";

const origin = await startGatewayWorker();
const admin = fixtureAdmin(origin, "bad-day");
const GO = { name: "go", inputSchema: { type: "object" } };
const CALL = { name: "up__go", arguments: {} };

test("a list whose second page is refused leaves out the same after each reading", async () => {
  const script = sessionScript(
    "s1",
    (exchange) => {
      const { cursor } = (exchange.message["params"] ?? {}) as Json;
      if (exchange.name === "prompts/list") exchange.result({ prompts: [{ name: "greet" }] });
      else if (exchange.name !== "tools/list") exchange.error(-32601, "Method not found");
      else if (cursor === undefined) exchange.result({ tools: [GO, GO], nextCursor: "2" });
      else exchange.error(-32603, "no such page");
    },
    { tools: {}, prompts: {} },
  );
  const endpoint = await ScriptedServer.start(script);
  const tenant = await gatewayTenant(origin, admin, { up: { url: endpoint.url, era: "2025" } });
  await (await tenant.client()).request("prompts/list");
  for (let reading = 0; reading < 3; reading += 1) {
    const refreshed = await admin.ask("POST", `/tenants/${tenant.id}/upstreams/up/refresh?wait=1`);
    expect(refreshed).toMatchObject({
      read: true,
      upstream: { content: { quarantined: [{ kind: "tools", name: "go", why: "is listed twice" }] } },
    });
  }
});

test("a server whose sessions have one id for each credential is read", async () => {
  const session = { "mcp-session-id": "of-the-key" };
  let isOpen = false;
  const hello = { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "x", version: "1" } };
  const endpoint = await ScriptedServer.start((exchange) => {
    const { name } = exchange;
    if (name === "initialize") {
      isOpen = true;
      exchange.result(hello, session);
    } else if (name === "DELETE") {
      isOpen = false;
      exchange.refuse(204);
    } else if (name === "server/discover") {
      exchange.json({ jsonrpc: "2.0", id: null, error: { code: -32600, message: "not initialized" } }, 400, session);
    } else if (!isOpen) exchange.refuse(404);
    else if (name === "tools/list") exchange.result({ tools: [GO] }, session);
    else exchange.refuse(202);
  });
  const tenant = await gatewayTenant(origin, admin, { up: { url: endpoint.url } });
  expect(namesIn((await (await tenant.client()).request("tools/list")).result)).toEqual(["up__go"]);
});

describe.each([
  [-32602, "Invalid params: no such customer"],
  [-32002, "No such customer"],
])("an error %i of the call itself that comes with 404", (code, message) => {
  test("is told, and the call runs once", async () => {
    let runs = 0;
    const up = await OneToolUpstream.start("2025", (exchange) => {
      runs += 1;
      if (runs === 1) exchange.result(textResult(exchange, "ok"));
      else exchange.error(code, message, 404);
    });
    const tenant = await gatewayTenant(origin, admin, { up: up.entry });
    const { token } = await admin.key(tenant.id);
    const client = await mcpClient("2025-11-25", tenant.url, {}, bearer(token));
    await client.request("tools/call", CALL);
    const { error } = await client.request("tools/call", CALL);
    expect(error?.message).toContain(message);
    expect(runs).toBe(2);
  });
});
