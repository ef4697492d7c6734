// An event that is no message, such as a heartbeat, lost the result behind it.

import { expect, test } from "vitest";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { gatewayTenant, startGatewayWorker } from "../support/gateway-tenant.ts";
import { ScriptedServer } from "../support/scripted-server.ts";
import { at } from "../support/upstream-faults.ts";

const origin = await startGatewayWorker();
const admin = fixtureAdmin(origin, "beat");

const TEXT_RESULT = { content: [{ type: "text", text: "went" }] };

test.each([
  ["an object", 'data: {"type":"heartbeat"}\n\n'],
  ["a text", "data: ping\n\n"],
  ["one of several", 'data: ping\n\ndata: {}\n\ndata: {"type":"heartbeat"}\n\n'],
])("a heartbeat that is %s is skipped, and the result behind it arrives", async (_what, beat) => {
  const script = at("tools/call", (exchange) => {
    const answer = { jsonrpc: "2.0", id: exchange.message["id"], result: TEXT_RESULT };
    exchange.stream().raw(beat).event(answer).end();
  });
  const endpoint = await ScriptedServer.start(script);
  const tenant = await gatewayTenant(origin, admin, { dav: { url: endpoint.url } });
  const client = await tenant.client();
  const called = await client.request("tools/call", { name: "dav__go", arguments: {} });
  expect(called.error).toBeUndefined();
  expect(called.result).toMatchObject(TEXT_RESULT);
});

test("two answers in one message are still refused", async () => {
  const script = at("tools/call", (exchange) => {
    const answer = { jsonrpc: "2.0", id: exchange.message["id"], result: TEXT_RESULT };
    exchange
      .stream()
      .raw(`data: ping\n\ndata: ${JSON.stringify([answer, answer])}\n\n`)
      .end();
  });
  const endpoint = await ScriptedServer.start(script);
  const tenant = await gatewayTenant(origin, admin, { dav: { url: endpoint.url } });
  const client = await tenant.client();
  const called = await client.request("tools/call", { name: "dav__go", arguments: {} });
  expect(called.error).toMatchObject({ code: -32000, data: { server: "dav", fault: "violation" } });
  expect(called.error?.message).toContain("two responses");
});
