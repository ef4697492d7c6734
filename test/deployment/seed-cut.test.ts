// A tenant's first content, stored by an invocation that ends before it is through: of its calls, or because its client left. The
// next one goes on where it stopped, or else a tenant with much of it would never be served.

import { env } from "cloudflare:workers";
import { expect, it, onTestFinished, vi } from "vitest";
import { createWorker, type Env } from "../../src/tenantry.ts";
import { sendTo } from "../support/workerd/served-tenant.ts";
import { freshTenant } from "../support/workerd/tenant.ts";

const EACH = 4;

/** One invocation's bindings: it has so many writes to KV. */
function limited(): Env {
  let left = EACH;
  const put = async (...args: Parameters<KVNamespace["put"]>) => {
    left -= 1;
    if (left < 0) throw new Error("Too many subrequests by single Worker invocation.");
    return env.BODIES.put(...args);
  };
  const get = (target: KVNamespace, member: string | symbol) => {
    const value = Reflect.get(target, member) as unknown;
    if (member === "put") return put;
    return typeof value === "function" ? (value as () => unknown).bind(target) : value;
  };
  return { ...env, BODIES: new Proxy(env.BODIES, { get }) };
}

it("interrupted seeding of a tenant continues with the next request", async () => {
  // Waiting moves the clock, and takes no time.
  const realNow = Date.now.bind(Date);
  let ahead = 0;
  const clock = vi.spyOn(Date, "now").mockImplementation(() => realNow() + ahead);
  const waiting = vi.spyOn(scheduler, "wait").mockImplementation(async (ms) => void (ahead += ms));
  onTestFinished(() => {
    clock.mockRestore();
    waiting.mockRestore();
  });
  const { id } = freshTenant();
  const resources = Array.from({ length: 10 }, (_one, at) => ({
    uri: `seed:${at}`,
    name: `${at}`,
    text: `${id} ${at}`,
  }));
  const mcp = createWorker({ tenants: async () => ({ seed: () => resources }), hooks: { onError: () => {} } });
  const message = { jsonrpc: "2.0", id: 1, method: "resources/list" };
  const statuses: number[] = [];
  for (let requests = 0; requests < 3; requests += 1) {
    statuses.push((await sendTo(mcp, id, { message, at: limited() })).status);
  }
  expect(statuses).toEqual([503, 503, 200]);
  const listed = await (await sendTo(mcp, id, { message })).text();
  expect(listed.match(/"uri":"seed:\d"/g)).toHaveLength(10);
});
