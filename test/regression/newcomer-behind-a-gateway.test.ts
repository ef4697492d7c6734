// Seen by a newcomer: `tenantry call` sent numbers as texts to a tool under its own name, and `tenantry doctor` of a tenant said
// that nothing failed while its upstreams could not be read.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { CommandLine } from "../support/command-line.ts";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { gatewayTenant, startGatewayWorker } from "../support/gateway-tenant.ts";
import { ScriptedServer, sessionScript } from "../support/scripted-server.ts";

const origin = await startGatewayWorker();
const admin = fixtureAdmin(origin, "newcomer");

async function commands(): Promise<CommandLine> {
  const folder = await mkdtemp(join(tmpdir(), "tenantry-newcomer-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return new CommandLine(folder, { HOME: folder, TENANTRY_URL: origin });
}

test("a tool under its own name is sent what its schema says", async () => {
  const properties = { a: { type: "number" }, b: { type: "number" } };
  const up = await ScriptedServer.start(
    sessionScript(
      "s1",
      (exchange) => {
        if (exchange.name === "tools/list")
          exchange.result({ tools: [{ name: "a.b", inputSchema: { type: "object", properties } }] });
        else if (exchange.name === "tools/call") exchange.result({ content: [] });
        else exchange.error(-32601, "Method not found", exchange.name === "server/discover" ? 400 : 200);
      },
      { tools: {} },
    ),
  );
  const tenant = await gatewayTenant(origin, admin, { up: { url: up.url } });
  const cli = await commands();
  expect((await cli.run(["call", tenant.url, "up__a.b", "a=1", "b=2"])).exit).toBe(0);
  const call = up.exchanges.find(({ name }) => name === "tools/call");
  expect(call?.message["params"]).toMatchObject({ name: "a.b", arguments: { a: 1, b: 2 } });
});

test("doctor names the upstreams of a tenant that cannot be read, each with its reason", async () => {
  const down = await ScriptedServer.start((exchange) => exchange.refuse(503));
  const tenant = await gatewayTenant(origin, admin, { up: { url: down.url } }, { without: ["up"] });
  const { stdout } = await (await commands()).run(["doctor", tenant.url]);
  expect(stdout).toMatch(/upstreams: up: .*503/);
});
