// Objects and KV that fail, or say nothing, where an author's options have them asked: who reads is told to try again, in time, and a
// job that goes through many tenants goes on with the next one.

import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { createWorker, defineTool, TenantError } from "../../src/tenantry.ts";
import { forgetName } from "../../src/tenants/directory/directory.ts";
import { evictPolicy } from "../../src/tenants/cache/policy-cache.ts";
import { sendTo } from "../support/workerd/served-tenant.ts";
import { faultyEnv } from "../support/workerd/faulty-env.ts";
import { OBJECT_FAULTS } from "../support/workerd/object-faults.ts";
import { freshTenant } from "../support/workerd/tenant.ts";
import { shortenTimers } from "./shorten-timers.ts";

const URI = "note:kept";

const mcp = createWorker({
  tenants: async () => ({ limits: { dailyToolCalls: 100, exact: true } }),
  tools: [defineTool({ name: "count", handler: () => "1" })],
  hooks: { onError: () => {} },
});

/** A tenant of which this isolate knows nothing any more; its body is only in KV. */
async function forgottenTenant(): Promise<string> {
  const { id } = freshTenant();
  await mcp.tenant(env, id).resources.write({ uri: URI, name: "kept", text: crypto.randomUUID() });
  evictPolicy(id);
  forgetName(id);
  return id;
}

const READS = [
  ["resources/list", "ContentObject content.list"],
  ["resources/read", "ContentObject content.get"],
] as const;

it.each(READS.flatMap(([method, step]) => OBJECT_FAULTS.map((fault) => [method, step, fault] as const)))(
  "%s is answered as what can be tried again where %s %s",
  async (method, step, fault) => {
    const id = await forgottenTenant();
    shortenTimers(100);
    const message = { jsonrpc: "2.0", id: 1, method, params: { uri: URI } };
    const at = faultyEnv(fault, step);
    const answered = await sendTo(mcp, id, { message, at: at.env });
    expect(at.steps).toContain(step);
    expect(await answered.text()).toContain("Temporarily unavailable, try again");
    // Once it is a stream, no header can say when.
    if (fault !== "hangs") expect(answered.headers.get("retry-after")).toBe("2");
  },
);

it("a body is read from the copy where KV says nothing", async () => {
  const id = await forgottenTenant();
  const message = { jsonrpc: "2.0", id: 1, method: "resources/read", params: { uri: URI } };
  shortenTimers(100);
  const at = faultyEnv("hangs", "BODIES get");
  const answered = await (await sendTo(mcp, id, { message, at: at.env })).text();
  expect(at.steps).toContain("BODIES get");
  expect(answered).toContain('"contents"');
});

type Outside = ReturnType<typeof mcp.tenant>;

it.each<[string, string, (tenant: Outside) => Promise<unknown>]>([
  ["announce", "DirectoryObject lookup", (tenant) => tenant.announce({ tools: true })],
  ["announce", "TenantObject policy.lease", (tenant) => tenant.announce({ tools: true })],
  ["announce", "ContentObject changes.announce", (tenant) => tenant.announce({ tools: true })],
  ["changed", "TenantObject policy.changed", (tenant) => tenant.invalidate()],
  ["resources.write", "BODIES put", (tenant) => tenant.resources.write({ uri: URI, name: "b", text: "b" })],
  [
    "resources.write",
    "ContentObject content.put",
    (tenant) => tenant.resources.write({ uri: URI, name: "b", text: "b" }),
  ],
  ["resources.list", "ContentObject content.list", (tenant) => tenant.resources.list()],
  ["readResource", "ContentObject content.get", (tenant) => tenant.readResource(URI, { as: { id: "nightly" } })],
])("%s ends with a TenantError where %s says nothing", async (_name, step, use) => {
  const id = await forgottenTenant();
  shortenTimers(100);
  const at = faultyEnv("hangs", step);
  const failed: unknown = await use(mcp.tenant(at.env, id)).catch((error: unknown) => error);
  expect(at.steps).toContain(step);
  expect(failed).toBeInstanceOf(TenantError);
});

it.each(OBJECT_FAULTS)("callTool says when to try again where the count of the day %s", async (fault) => {
  const id = await forgottenTenant();
  shortenTimers(100);
  const at = faultyEnv(fault, "TenantObject limits.take");
  const calling = mcp.tenant(at.env, id).callTool("count", {}, { as: { id: "nightly" } });
  const failed: unknown = await calling.catch((error: unknown) => error);
  expect(failed).toBeInstanceOf(TenantError);
  expect(failed).toMatchObject({ code: "unavailable", retryAfter: expect.any(Number) as number });
});
