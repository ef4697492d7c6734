// An author's function in `tenants` that takes longer than a lease lasts: nobody is served under a lease that ended while it was
// asked, and one request does not ask it again and again.

import { beforeEach, describe, expect, it, vi } from "vitest";
import { createKey } from "../../src/auth/api-key.ts";
import { createWorker, defineTool, type TenantDefinition } from "../../src/tenantry.ts";
import { policyStore } from "../../src/tenants/object/policy-store.ts";
import { createRpcClient } from "../../src/tenants/object/store.ts";
import { sendTo } from "../support/workerd/served-tenant.ts";
import { freshTenant } from "../support/workerd/tenant.ts";
import { endLease, stopClock } from "./lease-clock.ts";

const ANN = { name: "ann" };

beforeEach(stopClock);

/** A Worker whose function answers when the lease under which it is asked has ended; `during`: what else happens then. */
function slowly(definition: TenantDefinition, during: (ask: number) => Promise<unknown> = async () => {}) {
  const tenant = freshTenant();
  const seen = { asks: 0, ran: 0 };
  const mcp = createWorker({
    tools: [defineTool({ name: "write", handler: () => String((seen.ran += 1)) })],
    tenants: async (id) => {
      seen.asks += 1;
      await during(seen.asks);
      endLease(id);
      return { maxStalenessMs: 100, ...definition };
    },
    hooks: { onError: () => {} },
  });
  const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "write" } };
  const send = async (token?: string) => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    return (await sendTo(mcp, tenant.id, { message, headers })).status;
  };
  return { tenant, seen, send };
}

describe("a function that takes longer than a lease", () => {
  it("runs once for a request, beside the directory lookup", async () => {
    const { seen, send } = slowly({ maxStalenessMs: 1000 });
    expect(await send()).toBe(200);
    expect(seen).toEqual({ asks: 2, ran: 1 });
  });

  it.each([1, 2, 3, 4, 5, 6])("runs nothing for a key that is revoked during its call %i", async (time) => {
    const { id, token, hash } = await createKey();
    let ranBefore = -1;
    const { tenant, seen, send } = slowly({ mode: "key" }, async (ask) => {
      if (ask !== time) return;
      const revoked = await createRpcClient(tenant.stub, policyStore).revokeKey(id, ANN);
      vi.setSystemTime("leftMs" in revoked ? Date.now() + revoked.leftMs + 1 : NaN);
      ranBefore = seen.ran;
    });
    seen.asks = -2;
    expect(await send()).toBe(401);
    const key = { id, hash, name: "k", scopes: null, profile: null, expires: null };
    expect(await createRpcClient(tenant.stub, policyStore).addKey(key, ANN)).toMatchObject({ state: "written" });
    while (seen.asks < time) {
      endLease(tenant.id);
      await send(token);
    }
    expect(seen.ran).toBe(ranBefore);
    expect(await send(token)).toBe(401);
  });
});

it("an answer later than its lease does not replace the answer under the next one", async () => {
  const { id } = freshTenant();
  const said = (tools: readonly string[]): TenantDefinition => ({ maxStalenessMs: 400, tools });
  let row = said(["see"]);
  const gates: PromiseWithResolvers<void>[] = [];
  let isHeld = false;
  const tools = ["see", "write"].map((name) => defineTool({ name, handler: () => name }));
  const tenants = async () => {
    const read = row;
    const gate = Promise.withResolvers<void>();
    if (isHeld) gates.push(gate);
    else gate.resolve();
    await gate.promise;
    return read;
  };
  const mcp = createWorker({ tools, tenants, hooks: { onError: () => {} } });
  const message = { jsonrpc: "2.0", id: 1, method: "tools/list" };
  const list = async () => (await sendTo(mcp, id, { message })).text();
  await list();
  endLease(id);
  isHeld = true;
  const older = list();
  await expect.poll(() => gates.length, { interval: 10 }).toBe(1);
  row = said(["write"]);
  endLease(id);
  const newer = list();
  await expect.poll(() => gates.length, { interval: 10 }).toBe(2);
  isHeld = false;
  gates[0]?.resolve();
  await older;
  gates[1]?.resolve();
  expect(await newer).toContain('"write"');
  expect(await list()).toContain('"write"');
});
