// A call without a connection marks its upstream for a refresh, so that lists, state and log show the outage soon.

import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { createWorker, defineTool, gateway } from "../../src/tenantry.ts";
import { sendTo, servedTenant } from "../support/workerd/served-tenant.ts";
import { inside } from "../support/workerd/tenant.ts";
import { upstreamAt } from "../support/workerd/upstreams.ts";

const worker = createWorker({ tenants: {}, features: [gateway()] });
const upstream = createWorker({ tenants: { acme: {} }, tools: [defineTool({ name: "add", handler: () => "added" })] });

async function tenantWithUpstream() {
  const up = { isGone: false, reads: 0 };
  const url = upstreamAt(async (request) => {
    up.reads += (await request.clone().text()).includes('"tools/list"') ? 1 : 0;
    // What workerd says of a port at which nobody listens: no code, as of every connection that ends.
    if (up.isGone) throw new Error("Network connection lost.");
    return upstream.fetch(request, env, createExecutionContext());
  });
  const tenant = await servedTenant({ mode: "open", maxStalenessMs: 50, upstreams: { sums: { url } } });
  const ask = async (method: string, params: object = {}) =>
    (await sendTo(worker, tenant.id, { message: { jsonrpc: "2.0", id: 1, method, params } })).text();
  const list = () => ask("tools/list");
  const call = () => ask("tools/call", { name: "sums__add", arguments: {} });
  const sql = async <T>(work: (sql: SqlStorage) => T) => inside(tenant, ({ storage }) => work(storage.sql));
  const dueAt = () =>
    sql((rows) => rows.exec<{ due_at: number }>("SELECT due_at FROM upstreams WHERE id = 'sums'").one().due_at);
  await expect.poll(list, { timeout: 10_000 }).toContain("sums__add");
  // It was read some time ago, and is due much later.
  await sql((rows) => void rows.exec("UPDATE upstreams SET due_at = due_at + 600000, read_at = read_at - 60000"));
  return { up, list, call, sql, dueAt };
}

it("an upstream is shown as unreachable soon after a call could not connect", async () => {
  const { up, list, call, dueAt } = await tenantWithUpstream();
  expect(await dueAt()).toBeGreaterThan(Date.now() + 60_000);
  up.isGone = true;
  expect(await list()).not.toContain("tenantry/missing");
  expect(await call()).toContain("Failed to connect to server");
  await expect.poll(list, { timeout: 15_000, interval: 200 }).toContain("the connection was lost before an answer");
  expect(await list()).toContain("sums__add");
}, 120_000);

it("an upstream that is known to be gone is not read sooner because calls fail", async () => {
  const { up, list, call, sql, dueAt } = await tenantWithUpstream();
  up.isGone = true;
  await call();
  await expect.poll(list, { timeout: 15_000, interval: 200 }).toContain("the connection was lost before an answer");
  await sql((rows) => void rows.exec("UPDATE upstreams SET failures = 5, due_at = due_at + 600000"));
  const due = await dueAt();
  expect(await call()).toContain("Failed to connect to server");
  await list();
  expect(await dueAt()).toBe(due);
}, 120_000);
