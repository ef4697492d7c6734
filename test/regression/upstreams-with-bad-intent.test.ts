// Found by attacking the gateway as an upstream, or with one: a secret cut in two passed the redaction, an upstream that was
// removed or whose tenant was suspended was read once more, one HTTP 500 to `tools/list` removed the tools of a server that
// declares nothing, and the words of a refused resumption stood in everybody's lists.

import { describe, expect, test } from "vitest";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { gatewayTenant, missingOf, namesIn, startGatewayWorker } from "../support/gateway-tenant.ts";
import type { Json } from "../support/mcp-client.ts";
import { ScriptedServer, sessionScript, type Exchange } from "../support/scripted-server.ts";

const origin = await startGatewayWorker();
const admin = fixtureAdmin(origin, "intent");
const GO = { name: "go", inputSchema: { type: "object" } };
const CALL = { name: "up__go", arguments: {} };

type Script = (exchange: Exchange) => void;

/** An upstream of era 2025 with one tool, which answers each call so. */
function calling(call: Script, capabilities: Json = { tools: {} }): Script {
  return sessionScript(
    "s1",
    (exchange) => {
      if (exchange.name === "tools/list") exchange.result({ tools: [GO] });
      else if (exchange.name === "tools/call") call(exchange);
      else exchange.error(-32601, "Method not found", exchange.name === "server/discover" ? 400 : 200);
    },
    capabilities,
  );
}

async function tenantAt(script: Script, more: Json = {}, options: Json = {}) {
  const endpoint = await ScriptedServer.start(script);
  const tenant = await gatewayTenant(origin, admin, { up: { url: endpoint.url, ...more } }, options);
  return { endpoint, tenant };
}

describe("a secret that the upstream repeats in a long error", () => {
  const KEY = `eyJhbGciOiJIUzI1NiJ9.${"c3ViamVjdC1vZi1hLXNoYXJlZC1hY2NvdW50".repeat(8)}.c2lnbmF0dXJl`;
  const headers = { authorization: "Bearer {{secret:KEY}}" };
  const error_description = `could not verify token ${KEY}: it expired`;

  test("is shown to no caller, in no part", async () => {
    const call: Script = (exchange) => exchange.json({ error: "invalid_token", error_description }, 403);
    const { tenant } = await tenantAt(calling(call), { headers }, { secrets: { KEY } });
    const { error } = await (await tenant.client()).request("tools/call", CALL);
    expect(error?.message).toContain("could not verify token");
    expect(error?.message).not.toContain(KEY.slice(0, 50));
  });

  test("is shown to no operator, in no part", async () => {
    const refuse: Script = (exchange) => exchange.json({ error: "invalid_token", error_description }, 403);
    const { tenant } = await tenantAt(refuse, { headers }, { secrets: { KEY }, without: ["up"] });
    const tested = await admin.ask("POST", `/tenants/${tenant.id}/upstreams/up/test`);
    expect(tested["fault"]).toContain("could not verify token");
    expect(JSON.stringify(tested)).not.toContain(KEY.slice(0, 50));
  });
});

test("an upstream whose tenant was suspended, or that was removed, is not read for a change that it said before", async () => {
  const changing: Script = (exchange) => {
    const stream = exchange.stream().event({ jsonrpc: "2.0", method: "notifications/tools/list_changed" });
    stream.event({ jsonrpc: "2.0", id: exchange.message["id"], result: { content: [] } }).end();
  };
  // That of the third stays, and is read: so long is waited.
  const [removed, suspended, stays] = [
    await tenantAt(calling(changing)),
    await tenantAt(calling(changing)),
    await tenantAt(calling(changing)),
  ];
  for (const { tenant } of [removed, suspended, stays]) {
    // Read just now, so that the next reading is some seconds away.
    await admin.ask("POST", `/tenants/${tenant.id}/upstreams/up/refresh?wait=1`);
    await (await tenant.client()).request("tools/call", CALL);
  }
  await admin.apply(removed.tenant.id, {});
  await admin.suspend(suspended.tenant.id, "tenant", undefined, "stop");
  const before = [removed, suspended, stays].map(({ endpoint }) => endpoint.exchanges.length);
  const since = ({ endpoint }: typeof stays, at: number) =>
    endpoint.names.slice(before[at]).filter((name) => name !== "DELETE");
  await expect.poll(() => since(stays, 2), { timeout: 20_000 }).toContain("tools/list");
  expect([since(removed, 0), since(suspended, 1)]).toEqual([[], []]);
});

test("a server that declares nothing keeps its tools over one 500, with the reason", async () => {
  let fails = false;
  const script = calling((exchange) => exchange.result({ content: [] }), {});
  const { tenant } = await tenantAt((exchange) =>
    fails && exchange.name === "tools/list" ? exchange.refuse(500) : script(exchange),
  );
  const client = await tenant.client();
  fails = true;
  await admin.ask("POST", `/tenants/${tenant.id}/upstreams/up/refresh?wait=1`);
  const { result } = await client.request("tools/list");
  expect(namesIn(result)).toEqual(["up__go"]);
  expect(missingOf(result)).toEqual([{ source: "up", why: expect.stringContaining("500") as string }]);
});

test("the words of a refused resumption stand in no list", async () => {
  const script = sessionScript(
    "s1",
    (exchange) => {
      if (exchange.name === "tools/list") exchange.stream().raw("id: 1\nretry: 10\ndata:\n\n").end();
      else if (exchange.name === "GET") exchange.json({ error: "acct_SHARED is out of credit" }, 403);
      else if (exchange.name === "prompts/list") exchange.result({ prompts: [] });
      else exchange.error(-32601, "Method not found", exchange.name === "server/discover" ? 400 : 200);
    },
    { tools: {}, prompts: {} },
  );
  const { tenant } = await tenantAt(script);
  const { result } = await (await tenant.client()).request("tools/list");
  expect(missingOf(result)).toMatchObject([{ source: "up", why: expect.stringContaining("403") as string }]);
  expect(JSON.stringify(result)).not.toContain("acct_SHARED");
});
