// What the faults of upstreams leave behind in the Worker: no connection that stays open, and no memory that grows with how
// often they come.

import { afterAll, expect, test } from "vitest";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { gatewayTenant, startGatewayWorker } from "../support/gateway-tenant.ts";
import type { Json } from "../support/mcp.ts";
import { residentOf, startedWorkers } from "../support/process-memory.ts";
import { ScriptedEndpoint, type Exchange } from "../support/scripted-endpoint.ts";
import { sized } from "../support/tier.ts";
import { at, CALLING, LISTING, TIMEOUT_MS } from "../support/upstream-faults.ts";

const others = startedWorkers();
const origin = await startGatewayWorker();
const pid = startedWorkers().find((one) => !others.includes(one)) ?? 0;
const admin = fixtureAdmin(origin, "left");

/** The process takes memory from the kernel then, and uses it again afterwards. */
const WARMING = 2;
/** Over more of them workerd takes a few MiB a round; why is not known yet. */
const ROUNDS = sized({ usual: 4, long: 4, soak: 30 });
/** One answer of 50 MiB that stayed would be most of it. */
const MORE_MIB = 64;
const OF_A_CALL = CALLING.filter(({ isClosed, timeoutMs = TIMEOUT_MS }) => isClosed !== true && timeoutMs !== 5000);
const OF_A_LIST = LISTING.filter(({ isClosed }) => isClosed !== true);

let answer: (exchange: Exchange) => void = () => {};
let endpoint: ScriptedEndpoint;
afterAll(() => endpoint.stop());

const said: Json = { content: [{ type: "text", text: "went" }] };
const works = at("tools/call", (exchange) => exchange.result(said));

async function faultyTenant() {
  endpoint = new ScriptedEndpoint();
  endpoint.script = (exchange) => answer(exchange);
  await endpoint.listen(0);
  answer = works;
  const faulty = { url: endpoint.url, era: "2025", timeoutMs: TIMEOUT_MS };
  return gatewayTenant(origin, admin, { faulty });
}

/** How many requests to the upstream are still open. */
async function openRequests(): Promise<number> {
  let open = endpoint.exchanges.length;
  for (const { closed } of endpoint.exchanges) void closed.then(() => (open -= 1));
  // Each that is over says so in this turn.
  await new Promise((resolve) => setTimeout(resolve, 0));
  return open;
}

test(
  "every fault of the table, over and over, leaves no request open and takes no more memory than the first times",
  async () => {
    const tenant = await faultyTenant();
    const client = await tenant.client();
    const call = async () => client.request("tools/call", { name: "faulty__go", arguments: {} });
    const refresh = async () => admin.ask("POST", `/tenants/${tenant.id}/upstreams/faulty/refresh?wait=1`);
    const lines: string[] = [];
    let warm = 0;
    let peak = 0;
    for (let round = 1; round <= WARMING + ROUNDS; round += 1) {
      for (const row of OF_A_CALL) {
        answer = at("tools/call", row.answer);
        expect((await call()).error, row.what).toBeDefined();
        // What works in between keeps it from being left alone.
        answer = works;
        await expect.poll(async () => (await call()).result, { message: row.what }).toMatchObject(said);
      }
      for (const { script } of OF_A_LIST) {
        answer = script;
        await refresh();
      }
      answer = works;
      await refresh();
      await expect.poll(openRequests, { timeout: 20_000 }).toBe(0);
      endpoint.exchanges.length = 0;
      const resident = residentOf(pid);
      lines.push(`round ${round}: ${resident} MiB`);
      if (round <= WARMING) warm = Math.max(warm, resident);
      else peak = Math.max(peak, resident);
    }
    process.stdout.write(
      `memory of workerd after ${OF_A_CALL.length + OF_A_LIST.length} faults each: ${lines.join(", ")}\n`,
    );
    expect(warm).toBeGreaterThan(10);
    expect(peak).toBeLessThan(warm + MORE_MIB);
  },
  sized({ usual: 240_000, long: 240_000, soak: 1_200_000 }),
);
