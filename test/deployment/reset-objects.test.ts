// Objects that are reset under a call, as each deployment does to all of them: what only reads is asked for once more, so that no
// client hears of it. What writes is not, and an object that has too much to do is left alone.

import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { createWorker, defineTool } from "../../src/tenantry.ts";
import { forgetName, tenantOfHostname } from "../../src/tenants/directory/directory.ts";
import { evictPolicy } from "../../src/tenants/cache/policy-cache.ts";
import { sendTo, servedTenant } from "../support/workerd/served-tenant.ts";
import { failingOnce, RESETS } from "../support/workerd/faulty-env.ts";

const URI = "note:kept";
const OVERLOADED = { retryable: true, overloaded: true };
const LOST = {};

const faults: string[] = [];

const mcp = createWorker({
  tools: [
    defineTool({ name: "see", handler: () => "seen" }),
    defineTool({
      name: "find",
      handler: async (_args, { resources }) => {
        const found = await Promise.all([
          resources.list(),
          resources.search("kept"),
          resources.tags(),
          resources.uris("", 9),
        ]);
        return String(found.length);
      },
    }),
    defineTool({
      name: "keep",
      handler: async (_args, { resources }) => {
        await resources.write({ uri: "note:new", name: "new", text: "new" });
        return "kept";
      },
    }),
  ],
  hooks: { onError: (error) => faults.push(String(error)) },
});

/** A tenant that this isolate does not know, in whose content there is one resource. */
async function forgotten(): Promise<string> {
  const { id } = await servedTenant();
  await mcp.tenant(env, id).resources.write({ uri: URI, name: "kept", text: "kept" });
  await env.BODIES.delete(`placement/${id}`);
  evictPolicy(id);
  forgetName(id);
  return id;
}

const call = (name: string) => ["tools/call", { name }] as const;

const READS: readonly (readonly [method: string, params: object])[] = [
  ["tools/list", {}],
  ["resources/list", {}],
  ["resources/read", { uri: URI }],
  call("see"),
  call("find"),
];

async function sent(id: string, [method, params]: readonly [string, object], error: object) {
  const at = failingOnce(error);
  const message = { jsonrpc: "2.0", id: 1, method, params };
  const answered = await sendTo(mcp, id, { message, at: at.env });
  return {
    status: answered.status,
    retryAfter: answered.headers.get("retry-after"),
    text: await answered.text(),
    ...at,
  };
}

const times = (steps: readonly string[], name: string) => steps.filter((step) => step === name).length;

describe.each(RESETS)("where each call to an object fails once, and the platform says %j", (reset) => {
  it.each(READS)("%s %j is answered", async (...request) => {
    const { status, text, steps } = await sent(await forgotten(), request, reset);
    expect([status, text]).toEqual([200, expect.stringContaining('"result"')]);
    expect(text).not.toContain('"isError"');
    for (const step of new Set(steps.filter((name) => !name.startsWith("BODIES"))))
      expect([step, times(steps, step)]).toEqual([step, 2]);
    expect(steps).toContain("TenantObject policy.lease");
  });

  it("a write is not made a second time", async () => {
    const { text, steps } = await sent(await forgotten(), call("keep"), reset);
    expect(text).toContain('"isError"');
    expect(times(steps, "ContentObject content.put")).toBe(1);
  });

  it("a lookup of a hostname is repeated", async () => {
    const at = failingOnce(reset);
    expect(await tenantOfHostname(at.env, `${crypto.randomUUID()}.example.net`)).toBeNull();
    expect(times(at.steps, "DirectoryObject lookupHostname")).toBe(2);
  });
});

it("an overloaded object is called once, and the client gets a Retry-After", async () => {
  const id = await forgotten();
  await sendTo(mcp, id, { message: { jsonrpc: "2.0", id: 1, method: "tools/list" } });
  evictPolicy(id);
  const { status, retryAfter, steps } = await sent(id, call("see"), OVERLOADED);
  expect([status, retryAfter]).toEqual([503, expect.stringMatching(/^\d+$/)]);
  expect(times(steps, "DirectoryObject lookup") + times(steps, "TenantObject policy.lease")).toBe(1);
});

it("an error that the platform does not call retryable is not retried", async () => {
  const { status, steps } = await sent(await forgotten(), call("see"), LOST);
  expect(status).toBe(503);
  expect(times(steps, "DirectoryObject lookup")).toBe(1);
});
