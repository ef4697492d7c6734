// The platform lets one request wait for six answers at a time, those of an entrypoint of the same Worker included; a
// seventh waits. Reading upstreams must leave room for the request itself.

import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { createWorker, defineTool, gateway } from "../../src/tenantry.ts";
import { sendTo, servedTenant } from "../support/workerd/served-tenant.ts";
import { upstreamAt } from "../support/workerd/upstreams.ts";

const worker = createWorker({ tenants: {}, features: [gateway()] });
const upstream = createWorker({ tenants: { acme: {} }, tools: [defineTool({ name: "add", handler: () => "added" })] });
const UPSTREAMS = 12;
/** What a request may wait for at once, without the two that its own answer takes: KV, and an upstream. */
const ROOM = 4;

async function listed(id: string): Promise<number> {
  const response = await sendTo(worker, id, { message: { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} } });
  const { result } = await response.json<{ result: { tools: readonly unknown[] } }>();
  return result.tools.length;
}

/** The first reading has the Worker loaded once more, for its entrypoint, which takes its time on a machine that is busy. */
const FIRST_MS = 120_000;

it("an upstream is read beside the first request", { timeout: FIRST_MS }, async () => {
  const url = upstreamAt((request) => upstream.fetch(request, env, createExecutionContext()));
  const { id } = await servedTenant({ mode: "open", maxStalenessMs: 50, upstreams: { first: { url } } });
  await expect.poll(() => listed(id), { timeout: FIRST_MS, interval: 250 }).toBe(1);
});

it("upstreams that hang leave room for the request beside which they are read, and all are read in the end", async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  let waiting = 0;
  let most = 0;
  const hanging = () =>
    upstreamAt(async (request) => {
      waiting += 1;
      most = Math.max(most, waiting);
      await released;
      waiting -= 1;
      return upstream.fetch(request, env, createExecutionContext());
    });
  const upstreams = Object.fromEntries(Array.from({ length: UPSTREAMS }, (_, at) => [`up${at}`, { url: hanging() }]));
  const { id } = await servedTenant({ mode: "open", maxStalenessMs: 50, upstreams });
  await listed(id);
  await expect.poll(() => waiting).toBeGreaterThanOrEqual(ROOM);
  release();
  await expect.poll(() => listed(id), { timeout: 15_000 }).toBe(UPSTREAMS);
  expect(most).toBe(ROOM);
});
