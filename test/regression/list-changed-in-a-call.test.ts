// What an upstream lists anew during a call was read when somebody asked for a list: with nobody asking, no client heard of it,
// and the first list after it was the old one.

import { describe, expect, onTestFinished, test } from "vitest";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { gatewayTenant, namesIn, startGatewayWorker } from "../support/gateway-tenant.ts";
import { listenTo } from "../support/listening.ts";
import { ERAS, type Client, type Json } from "../support/mcp-client.ts";
import { OneToolUpstream, textResult, callInEnvelope } from "./one-tool-upstream.ts";
import type { Exchange } from "../support/scripted-server.ts";

const origin = await startGatewayWorker();
const admin = fixtureAdmin(origin, "changed");
const CHANGED = "notifications/tools/list_changed";

const listed = (era: "2025" | "2026", names: readonly string[]): Json => ({
  ...(era === "2026" && { resultType: "complete", ttlMs: 600_000, cacheScope: "public" }),
  tools: names.map((name) => ({ name, inputSchema: { type: "object" } })),
});

/** Its call says that there is another tool from now on. */
async function growing(era: "2025" | "2026") {
  let isGrown = false;
  const up = await OneToolUpstream.start(
    era,
    (exchange) => {
      isGrown = true;
      const { id } = exchange.message;
      exchange.stream().event({ jsonrpc: "2.0", method: CHANGED });
      exchange.event({ jsonrpc: "2.0", id, result: textResult(exchange, "grown") }).end();
    },
    {
      first: (exchange) => {
        if (exchange.name !== "tools/list" || !isGrown) return false;
        exchange.result(listed(era, ["go", "more"]));
        return true;
      },
    },
  );
  return { up, readings: () => up.endpoint.names.filter((name) => name === "tools/list").length };
}

const toolsOf = async (client: Client) => namesIn((await client.request("tools/list")).result);

describe.each(ERAS)(
  "an upstream of era $era that says in a call that its tools changed",
  { timeout: 40_000 },
  ({ era }) => {
    test.each(ERAS)("is read at once, and a client of era $era that listens hears of it", async ({ revision }) => {
      const { up, readings } = await growing(era);
      const tenant = await gatewayTenant(origin, admin, { up: up.entry });
      const before = readings();
      const client = await tenant.client(revision);
      const listening = await listenTo(revision, tenant.url);
      onTestFinished(() => listening.events.close());
      await client.request("tools/call", { name: "up__go", arguments: {} });
      await expect.poll(readings).toBe(before + 1);
      // Those of the reading before may be on their way still, of other lists too.
      const messages: unknown[] = [];
      do messages.push((await listening.next())["method"]);
      while (messages.at(-1) !== CHANGED || !(await toolsOf(client)).includes("up__more"));
    });
  },
);

test(
  "an upstream that says so again in the same call is read once more when the call has ended",
  { timeout: 60_000 },
  async () => {
    let tools = ["go"];
    const calling = Promise.withResolvers<Exchange>();
    const up = await OneToolUpstream.start("2025", (exchange) => calling.resolve(exchange.stream()), {
      first: (exchange) => exchange.name === "tools/list" && (exchange.result(listed("2025", tools)), true),
    });
    const readings = () => up.endpoint.names.filter((name) => name === "tools/list").length;
    const tenant = await gatewayTenant(origin, admin, { up: up.entry });
    const client = await tenant.client();
    const called = client.request("tools/call", { name: "up__go", arguments: {} });
    const exchange = await calling.promise;
    for (const [at, more] of ["first", "second"].entries()) {
      tools = [...tools, more];
      exchange.event({ jsonrpc: "2.0", method: CHANGED });
      if (at === 0) await expect.poll(() => toolsOf(client)).toContain("up__first");
    }
    const before = readings();
    exchange.event({ jsonrpc: "2.0", id: exchange.message["id"], result: textResult(exchange, "grown") }).end();
    await called;
    await expect.poll(readings).toBe(before + 1);
    await expect.poll(() => toolsOf(client)).toContain("up__second");
  },
);

test("an upstream that says so in a call in an envelope is read at once", async () => {
  const { up, readings } = await growing("2026");
  const tenant = await gatewayTenant(origin, admin, { up: up.entry });
  const before = readings();
  await callInEnvelope(origin, tenant.id, { capabilities: {} });
  await expect.poll(readings).toBe(before + 1);
});
