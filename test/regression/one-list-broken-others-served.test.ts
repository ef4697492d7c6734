// One list of an upstream that could not be read took its other lists away: now it alone is missing, with its reason, and
// what was last good of it stays.

import { expect, test } from "vitest";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { gatewayTenant, missingOf, namesIn, startGatewayWorker } from "../support/gateway-tenant.ts";
import type { Client, Json } from "../support/mcp-client.ts";
import { ScriptedServer, sessionScript, type Exchange } from "../support/scripted-server.ts";

const origin = await startGatewayWorker();
const admin = fixtureAdmin(origin, "lists");

type Answer = (exchange: Exchange) => void;

const listed: Answer = (exchange) => exchange.result({ prompts: [{ name: "greet" }] });

/** `tools`: their names now. */
function served(prompts: () => Answer, tools: () => readonly string[]): Answer {
  return sessionScript(
    "s1",
    (exchange) => {
      if (exchange.name === "prompts/list") prompts()(exchange);
      else if (exchange.name === "tools/list") {
        exchange.result({ tools: tools().map((name) => ({ name, inputSchema: { type: "object" } })) });
      } else if (exchange.name === "tools/call") exchange.result({ content: [{ type: "text", text: "went" }] });
      else exchange.error(-32601, "Method not found", exchange.name === "server/discover" ? 400 : 200);
    },
    { tools: {}, prompts: {} },
  );
}

async function tenantOf(prompts: () => Answer, tools: () => readonly string[] = () => ["go"]) {
  const endpoint = await ScriptedServer.start(served(prompts, tools));
  const tenant = await gatewayTenant(origin, admin, { one: { url: endpoint.url, timeoutMs: 1000 } });
  return { tenant, client: await tenant.client() };
}

async function promptsOf(client: Client) {
  const { result } = await client.request("prompts/list");
  return { names: (result["prompts"] as Json[]).map(({ name }) => name), missing: missingOf(result) };
}

const BROKEN: readonly (readonly [what: string, answer: Answer])[] = [
  ["{}", (exchange) => exchange.result({ prompts: {} })],
  ["null", (exchange) => exchange.result({ prompts: null })],
  ["missing", (exchange) => exchange.result({})],
  ["-32603", (exchange) => exchange.error(-32603, "no prompts today")],
  ["404", (exchange) => exchange.refuse(404)],
  ["500", (exchange) => exchange.refuse(500)],
  ["202", (exchange) => exchange.refuse(202)],
  ["never answered", () => {}],
];

test.each(BROKEN)("prompts that are %s are missing, and the tool beside them is served", async (_what, answer) => {
  const { client } = await tenantOf(() => answer);
  expect(namesIn((await client.request("tools/list")).result)).toEqual(["one__go"]);
  const called = await client.request("tools/call", { name: "one__go", arguments: {} });
  expect(called.result).toMatchObject({ content: [{ text: "went" }] });
  const { names, missing } = await promptsOf(client);
  expect(names).toEqual([]);
  expect(missing).toEqual([{ source: "one", why: expect.stringContaining("prompts") as string }]);
});

test("a list that was good and breaks later keeps its last good definitions, and the others are read anew", async () => {
  let answer = listed;
  let tools = ["go"];
  const { tenant, client } = await tenantOf(
    () => answer,
    () => tools,
  );
  expect(await promptsOf(client)).toEqual({ names: ["one__greet"], missing: [] });
  answer = (exchange) => exchange.refuse(500);
  tools = ["go", "stop"];
  await admin.ask("POST", `/tenants/${tenant.id}/upstreams/one/refresh?wait=1`);
  await expect.poll(async () => (await promptsOf(client)).missing).toMatchObject([{ source: "one" }]);
  const { names, missing } = await promptsOf(client);
  expect(names).toEqual(["one__greet"]);
  expect(missing).toMatchObject([{ why: expect.stringContaining("prompts") as string }]);
  expect(namesIn((await client.request("tools/list")).result)).toEqual(["one__go", "one__stop"]);
  answer = listed;
  await admin.ask("POST", `/tenants/${tenant.id}/upstreams/one/refresh?wait=1`);
  await expect.poll(() => promptsOf(client)).toEqual({ names: ["one__greet"], missing: [] });
});
