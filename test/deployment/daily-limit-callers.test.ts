// Calls that an isolate counts by itself and reports later: the tenant object counts them for the callers that made them.

import { expect, it } from "vitest";
import { createKey } from "../../src/auth/api-key.ts";
import { createWorker, defineTool } from "../../src/tenantry.ts";
import { addressOf, hashAddress } from "../../src/limits/address.ts";
import { limitStore } from "../../src/limits/limit-store.ts";
import { policyStore } from "../../src/tenants/object/policy-store.ts";
import { createRpcClient } from "../../src/tenants/object/store.ts";
import { sendTo, servedTenant } from "../support/workerd/served-tenant.ts";
import { freshAddress } from "../support/workerd/tenant.ts";

it("counts the calls of each key and each address for that caller", async () => {
  const mcp = createWorker({ tenants: {}, tools: [defineTool({ name: "see", handler: () => "seen" })] });
  const { id: tenant, stub } = await servedTenant({ mode: "open", limits: { principalDailyToolCalls: 10 } });
  const keys = await Promise.all([createKey(), createKey()]);
  for (const { id, hash } of keys) {
    const key = { id, hash, name: id, scopes: null, profile: null, expires: null };
    await createRpcClient(stub, policyStore).addKey(key, { name: "ann" });
  }
  const address = freshAddress();
  const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "see" } };
  const call = async (token?: string) => {
    const headers = { "cf-connecting-ip": address, ...(token && { authorization: `Bearer ${token}` }) };
    expect((await sendTo(mcp, tenant, { message, headers })).status).toBe(200);
  };
  const [first, second] = keys;
  await call(first?.token);
  for (let calls = 0; calls < 2; calls += 1) await call(second?.token);
  for (let calls = 0; calls < 3; calls += 1) await call();
  const counted = async () => (await createRpcClient(stub, limitStore).use()).calls;
  await expect.poll(counted, { timeout: 20_000 }).toEqual([
    { caller: await hashAddress(addressOf(new Headers({ "cf-connecting-ip": address }))), used: 3 },
    { caller: `key ${second?.id}`, used: 2 },
    { caller: `key ${first?.id}`, used: 1 },
  ]);
});
