// A server that refused the probe of `era: auto` with 401, 403 or 5xx was no upstream at all. It may be an older one that
// knows no such request, or one that is away for a moment: it is tried as an older one, and probed at the next reading.

import { expect, test } from "vitest";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { gatewayTenant, namesIn, startGatewayWorker } from "../support/gateway-tenant.ts";
import { ScriptedServer, sessionScript, type Exchange, type Json } from "../support/scripted-server.ts";

const origin = await startGatewayWorker();
const admin = fixtureAdmin(origin, "probe");

const TOOLS = { tools: [{ name: "go", inputSchema: { type: "object" } }] };
const OF_2026 = { resultType: "complete", ttlMs: 60_000, cacheScope: "public" };

const served = sessionScript(
  "s1",
  (exchange) => {
    const is2026 = exchange.headers["mcp-protocol-version"] === "2026-07-28";
    const discovered: Json = { supportedVersions: ["2026-07-28"], capabilities: { tools: {} } };
    const result = exchange.name === "server/discover" ? discovered : TOOLS;
    exchange.result(is2026 ? { ...OF_2026, ...result } : result);
  },
  { tools: {} },
);

test.each([401, 403, 500, 503])("a probe that is answered %i decides for one reading", async (status) => {
  let script = (exchange: Exchange) =>
    exchange.name === "server/discover" ? exchange.refuse(status) : served(exchange);
  const endpoint = await ScriptedServer.start((exchange) => script(exchange));
  const tenant = await gatewayTenant(origin, admin, { one: { url: endpoint.url } });
  const path = `/tenants/${tenant.id}/upstreams/one`;
  const client = await tenant.client();
  expect(namesIn((await client.request("tools/list")).result)).toEqual(["one__go"]);
  expect(await admin.ask("GET", path)).toMatchObject({ content: { way: "2025" } });
  script = served;
  await admin.ask("POST", `${path}/refresh?wait=1`);
  expect(await admin.ask("GET", path)).toMatchObject({ content: { way: "2026" } });
});
