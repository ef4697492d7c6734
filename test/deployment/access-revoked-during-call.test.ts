// Rights that are withdrawn while a call waits after it was let in: for its author's hook, for a validation that takes its
// time, for others' keys to be looked up. Whoever was told of the withdrawal sees nothing of the call any more.

import { describe, expect, it } from "vitest";
import * as z from "zod";
import { createKey } from "../../src/auth/api-key.ts";
import { createWorker, defineTool, definePrompt, defineTemplate } from "../../src/tenantry.ts";
import { policyStore } from "../../src/tenants/object/policy-store.ts";
import { createRpcClient } from "../../src/tenants/object/store.ts";
import { getFreshPolicy } from "../../src/tenants/cache/policy-cache.ts";
import { sendTo, servedTenant } from "../support/workerd/served-tenant.ts";
import type { FreshTenant } from "../support/workerd/tenant.ts";

const ANN = { name: "ann" };

/** A gate that a hook or a validation waits at. */
function gate() {
  const reached = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  return {
    reached: reached.promise,
    open: () => {
      opened.resolve();
    },
    wait: async () => {
      reached.resolve();
      await opened.promise;
    },
  };
}

async function keyOf({ stub }: FreshTenant) {
  const { id, token, hash } = await createKey();
  const key = { id, hash, name: "k", scopes: null, profile: null, expires: null };
  await createRpcClient(stub, policyStore).addKey(key, ANN);
  return { id, authorization: `Bearer ${token}` };
}

/** The moment from which on the operator believes that nothing with the key succeeds. */
async function untilInForce(effectiveAt: number): Promise<void> {
  await expect.poll(() => Date.now(), { interval: 10 }).toBeGreaterThan(effectiveAt);
}

const REQUESTS = [
  ["tools/call", { name: "write", arguments: { text: "x" } }],
  ["prompts/get", { name: "hello", arguments: {} }],
  ["resources/read", { uri: "late:one" }],
] as const;

/** A Worker that notes what ran, and lets each call wait at the gate. */
function waiting() {
  const ran: string[] = [];
  const at = gate();
  const handler = (what: string) => () => {
    ran.push(what);
    return what;
  };
  const worker = createWorker({
    tenants: {},
    tools: [
      defineTool({ name: "write", description: "w", handler: handler("tools/call") }),
      defineTool({
        name: "checked",
        description: "c",
        input: z.object({
          text: z.string().refine(async () => {
            await at.wait();
            return true;
          }),
        }),
        handler: handler("checked"),
      }),
    ],
    prompts: [definePrompt({ name: "hello", handler: handler("prompts/get") })],
    resources: [
      defineTemplate({
        uriTemplate: "late:{id}",
        name: "late",
        read: () => String(ran.push("resources/read")),
      }),
    ],
    hooks: {
      onError: () => {},
      beforeCall: ({ name }) => (name === "checked" ? undefined : at.wait().then(() => undefined)),
    },
  });
  return { worker, ran, at };
}

describe("a key that is revoked while its call waits", () => {
  it.each([
    ...REQUESTS.map(([method, params]) => [`a hook before ${method}`, method, params] as const),
    ["a validation", "tools/call", { name: "checked", arguments: { text: "x" } }] as const,
  ])("for %s runs nothing", async (_what, method, params) => {
    const { worker, ran, at } = waiting();
    const tenant = await servedTenant({ mode: "key", maxStalenessMs: 50 });
    const { id, authorization } = await keyOf(tenant);
    const message = { jsonrpc: "2.0", id: 1, method, params };
    const going = sendTo(worker, tenant.id, { message, headers: { authorization } });
    await at.reached;
    const revoked = await createRpcClient(tenant.stub, policyStore).revokeKey(id, ANN);
    await untilInForce("leftMs" in revoked ? Date.now() + revoked.leftMs : 0);
    at.open();
    expect(await (await going).json()).toMatchObject({ id: 1, error: {} });
    expect(ran).toEqual([]);
  });
});

it("a tool that is denied while its call waits for a hook does not run, and one that is not goes on", async () => {
  for (const [denied, expected] of [
    [["write"], []],
    [["other"], ["tools/call"]],
  ] as const) {
    const { worker, ran, at } = waiting();
    const before = { mode: "open", maxStalenessMs: 50, profiles: { p: {} } } as const;
    const tenant = await servedTenant(before);
    const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "write" } };
    const going = sendTo(worker, `${tenant.id}/p`, { message });
    await at.reached;
    const after = { ...before, profiles: { p: { tools: { deny: denied } } } };
    const write = { own: after, effective: after, deprecatedNames: [], ifRevision: null, actor: ANN, action: "apply" };
    const done = await createRpcClient(tenant.stub, policyStore).write(write);
    await untilInForce("leftMs" in done ? Date.now() + done.leftMs : 0);
    at.open();
    await (await going).text();
    expect(ran).toEqual(expected);
  }
});

it("a valid key is not refused because the isolate forgot it while the body was on its way", async () => {
  const worker = createWorker({ tenants: {}, hooks: { onError: () => {} } });
  const tenant = await servedTenant({ mode: "key", maxStalenessMs: 60_000 });
  const { authorization } = await keyOf(tenant);
  const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
  expect((await sendTo(worker, tenant.id, { message: ping, headers: { authorization } })).status).toBe(200);
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const going = sendTo(worker, tenant.id, { body: readable, headers: { authorization } });
  await writer.write(new TextEncoder().encode(JSON.stringify(ping)));
  getFreshPolicy(tenant.id)?.keys.clear();
  await writer.close();
  expect((await going).status).toBe(200);
});

it("texts that are no keys take no valid key's place in the isolate's memory", async () => {
  const worker = createWorker({ tenants: {}, hooks: { onError: () => {} } });
  const tenant = await servedTenant({ mode: "key", maxStalenessMs: 60_000 });
  const { authorization } = await keyOf(tenant);
  const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
  await sendTo(worker, tenant.id, { message: ping, headers: { authorization } });
  const { keys } = getFreshPolicy(tenant.id) ?? { keys: new Map<string, null>() };
  for (let at = 0; at < 999; at += 1) keys.set(`no key ${at}`, null);
  const stranger = await createKey();
  const refused = await sendTo(worker, tenant.id, {
    message: ping,
    headers: { authorization: `Bearer ${stranger.token}` },
  });
  expect(refused.status).toBe(401);
  expect([keys.size, keys.has(authorization.slice("Bearer ".length))]).toEqual([1000, true]);
});
