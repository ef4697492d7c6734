// More upstreams are due at once than an isolate reads at a time.

import { expect, it } from "vitest";
import { catalogReads } from "../../src/gateway/guard/fair-semaphore.ts";
import { createWorker, gateway } from "../../src/tenantry.ts";
import { sendTo, servedTenant } from "../support/workerd/served-tenant.ts";
import { upstreamAt } from "../support/workerd/upstreams.ts";

const worker = createWorker({ tenants: {}, features: [gateway()] });
/** Of a server that says nothing of when its lists are to be read again: for minutes they are not. */
const RESULTS: Readonly<Record<string, object>> = {
  "server/discover": { supportedVersions: ["2026-07-28"], capabilities: { tools: {} } },
  "tools/list": { tools: [{ name: "add", inputSchema: { type: "object" } }] },
  "tools/call": { content: [{ type: "text", text: "added" }] },
};
const TENANTS = 20;
const OF_EACH = 5;
const AT_ONCE = 16;

async function ask(id: string, method: string, params: object = {}): Promise<string> {
  return (await sendTo(worker, id, { message: { jsonrpc: "2.0", id: 1, method, params } })).text();
}

const counted = (text: string) => [...text.matchAll(/__add"/g)].length;

it("a hundred upstreams due at once are each read once, and calls are answered", { timeout: 120_000 }, async () => {
  const readings = new Map<string, number>();
  let [now, most] = [0, 0];
  // What is read is held until the calls were made: as many as there may be are inside then.
  const called = Promise.withResolvers<void>();
  let isHeld = false;
  const origin = new URL(
    upstreamAt(async (request) => {
      const { id, method } = await request.json<{ id: number; method: string }>();
      const { search } = new URL(request.url);
      if (method === "tools/list") readings.set(search, (readings.get(search) ?? 0) + 1);
      now += 1;
      most = Math.max(most, now);
      if (isHeld && method !== "tools/call") await called.promise;
      else await scheduler.wait(5);
      now -= 1;
      return Response.json({ jsonrpc: "2.0", id, result: RESULTS[method] });
    }),
  ).origin;
  const documentOf = (tenant: number) => {
    const ids = Array.from({ length: OF_EACH }, (_, at) => `up${at}`);
    const urlOf = (id: string) => ({ url: `${origin}/mcp?${tenant}-${id}`, era: "2026" as const });
    return { mode: "open", maxStalenessMs: 1000, upstreams: Object.fromEntries(ids.map((id) => [id, urlOf(id)])) };
  };
  // Its lease outlasts what is read meanwhile: it is the others that are to be read.
  const first = await servedTenant({ ...documentOf(-1), mode: "open", maxStalenessMs: 20_000 });
  await expect.poll(async () => counted(await ask(first.id, "tools/list")), { timeout: 120_000 }).toBe(OF_EACH);
  [most, isHeld] = [0, true];
  const tenants = await Promise.all(
    Array.from({ length: TENANTS }, (_, at) => servedTenant({ ...documentOf(at), mode: "open" })),
  );
  const read = Promise.all(
    tenants.map(({ id }) =>
      expect.poll(async () => counted(await ask(id, "tools/list")), { timeout: 240_000, interval: 500 }).toBe(OF_EACH),
    ),
  );
  await expect.poll(() => catalogReads.permits, { timeout: 60_000 }).toBe(AT_ONCE);
  const calls = await Promise.all(
    Array.from({ length: 10 }, () => ask(first.id, "tools/call", { name: "up0__add", arguments: {} })),
  );
  expect(calls.filter((text) => !text.includes(`"added"`))).toEqual([]);
  isHeld = false;
  called.resolve();
  await read;
  // The ten calls are beside them.
  expect(most).toBeLessThanOrEqual(AT_ONCE + 10);
  expect(readings.size).toBe((TENANTS + 1) * OF_EACH);
  expect(Math.max(...readings.values())).toBe(1);
  await expect.poll(() => catalogReads.permits).toBe(0);
});
