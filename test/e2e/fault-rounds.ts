// A tenant whose one upstream does everything that upstreams do wrong, one after the other, as often as a test wants.

import { expect } from "vitest";
import type { FixtureAdmin } from "../support/fixture-admin.ts";
import { gatewayTenant } from "../support/gateway-tenant.ts";
import type { Json } from "../support/mcp-client.ts";
import { ScriptedServer, type Exchange } from "../support/scripted-server.ts";
import { at, CALLING, LISTING, TIMEOUT_MS } from "../support/upstream-faults.ts";

const OF_A_CALL = CALLING.filter(({ isClosed, timeoutMs = TIMEOUT_MS }) => isClosed !== true && timeoutMs !== 5000);
const OF_A_LIST = LISTING.filter(({ isClosed }) => isClosed !== true);
export const FAULTS = OF_A_CALL.length + OF_A_LIST.length;

const result: Json = { content: [{ type: "text", text: "went" }] };
const works = at("tools/call", (exchange) => exchange.result(result));

export interface FaultRounds {
  /** Every fault once, and what works in between. Resolves when no request to the upstream is open. */
  round(): Promise<void>;
  stop(): Promise<void>;
}

export async function startFaultRounds(origin: string, admin: FixtureAdmin): Promise<FaultRounds> {
  const endpoint = new ScriptedServer();
  let answer: (exchange: Exchange) => void = works;
  endpoint.script = (exchange) => answer(exchange);
  await endpoint.listen(0);
  const faulty = { url: endpoint.url, era: "2025", timeoutMs: TIMEOUT_MS };
  const tenant = await gatewayTenant(origin, admin, { faulty });
  const client = await tenant.client();
  const call = async () => client.request("tools/call", { name: "faulty__go", arguments: {} });
  const refresh = async () => admin.ask("POST", `/tenants/${tenant.id}/upstreams/faulty/refresh?wait=1`);
  const round = async () => {
    for (const row of OF_A_CALL) {
      answer = at("tools/call", row.answer);
      expect((await call()).error, row.what).toBeDefined();
      // What works in between keeps it from being left alone.
      answer = works;
      await expect
        .poll(async () => (await call()).result, { message: row.what, timeout: 20_000 })
        .toMatchObject(result);
    }
    for (const { script } of OF_A_LIST) {
      answer = script;
      await refresh();
    }
    answer = works;
    await refresh();
    await expect.poll(() => openRequests(endpoint), { timeout: 20_000 }).toBe(0);
    endpoint.exchanges.length = 0;
  };
  return { round, stop: () => endpoint.stop() };
}

/** How many requests to the upstream are still open. */
async function openRequests({ exchanges }: ScriptedServer): Promise<number> {
  let open = exchanges.length;
  for (const { closed } of exchanges) void closed.then(() => (open -= 1));
  // Each that is over says so in this turn.
  await new Promise((resolve) => setTimeout(resolve, 0));
  return open;
}
