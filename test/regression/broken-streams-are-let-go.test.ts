// A call whose upstream broke off in the middle of its answer stayed in memory for good, with the request of its client: the
// stream keeps the error, the error its calls, and they the stream.

import { expect, test } from "vitest";
import { collectHeap } from "../support/heap-after-gc.ts";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { gatewayTenant, startInspectedGateway } from "../support/gateway-tenant.ts";
import { ScriptedServer, type Exchange } from "../support/scripted-server.ts";
import { at } from "../support/upstream-faults.ts";

const worker = await startInspectedGateway();
const admin = fixtureAdmin(worker.origin, "broken");

const CALLS = 20;
const HELD = ["workerd / Request", "workerd / ReadableStreamDefaultReader", "workerd / AbortSignal"] as const;

const BROKEN: readonly (readonly [string, (exchange: Exchange) => void])[] = [
  ["a stream", (exchange) => exchange.stream().raw('data: {"jsonrpc":"2.0","id"').drop()],
  ["JSON of no known length", (exchange) => exchange.stream({ "content-type": "application/json" }).raw("{").drop()],
];

const works = at("tools/call", (exchange) => exchange.result({ content: [] }));

test.each(BROKEN)("a call whose upstream breaks off in %s leaves nothing in memory", async (_what, broken) => {
  const endpoint = await ScriptedServer.start(works);
  const tenant = await gatewayTenant(worker.origin, admin, { faulty: { url: endpoint.url, era: "2025" } });
  const client = await tenant.client();
  const call = async () => client.request("tools/call", { name: "faulty__go", arguments: {} });
  const breakOff = async () => {
    endpoint.script = at("tools/call", broken);
    expect((await call()).error).toMatchObject({ data: { fault: "lost" } });
    // What works in between keeps it from being left alone.
    endpoint.script = works;
    await expect.poll(async () => (await call()).result).toMatchObject({ content: [] });
  };
  await breakOff();
  const held = async () => {
    const heap = await collectHeap(worker);
    return HELD.map((name) => heap.count(name));
  };
  const before = await held();
  for (let calls = 0; calls < CALLS; calls += 1) await breakOff();
  // What keeps watch over calls lasts a moment longer than they do.
  await expect
    .poll(async () => Math.max(...(await held()).map((count, index) => count - (before[index] ?? 0))))
    .toBeLessThan(CALLS / 4);
});
