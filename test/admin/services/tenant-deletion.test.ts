import { createExecutionContext, runInDurableObject, waitOnExecutionContext } from "cloudflare:test";
import { exports } from "cloudflare:workers";
import { expect, it } from "vitest";
import { sessionName } from "../../../src/sessions/session-stub.ts";
import { storageKey } from "../../../src/tenants/object/tenant-uid.ts";
import { policyStore } from "../../../src/tenants/object/policy-store.ts";
import { statefulSessionStore } from "../../../src/tenants/object/stateful-session-store.ts";
import { createRpcClient } from "../../../src/tenants/object/store.ts";
import { createWorker, type Env } from "../../../src/tenantry.ts";
import { anyTenant, inside, oneTenant, tenantOf } from "../../support/workerd/tenant.ts";
import { adminEnv, ask, newTenant, ORIGIN } from "../../support/workerd/admin.ts";

const worker = createWorker({ tenants: { demo: {} } });
const whole = adminEnv as unknown as Env;

async function post(tenant: string, message: object, session?: string): Promise<Response> {
  const ctx = createExecutionContext();
  const request = new Request(`${ORIGIN}/mcp/${tenant}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...(session === undefined ? {} : { "mcp-session-id": session }) },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...message }),
  });
  const response = await worker.fetch(request, whole, ctx);
  await waitOnExecutionContext(ctx);
  return response;
}

const OWNERSHIP = { owner: "ann", maxPerOwner: 10, maxPerTenant: 100 };

/** A session that remembers a subscription. */
async function subscribed(tenant: string): Promise<string> {
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } };
  const begun = await post(tenant, { method: "initialize", params });
  const session = begun.headers.get("mcp-session-id") ?? "";
  const done = await post(tenant, { method: "resources/subscribe", params: { uri: "notes://one" } }, session);
  expect(await done.json()).toMatchObject({ result: {} });
  return session;
}

const createdOf = async (tenant: string) =>
  (await createRpcClient(anyTenant(tenant), policyStore).tenantUid(false)) ?? "";
const registerOf = (tenant: string) => createRpcClient(anyTenant(tenant), statefulSessionStore);

function subscriptionsIn(of: string, nonce: string): Promise<number> {
  return runInDurableObject(exports.SessionObject.getByName(sessionName(of, nonce)), async (object) => {
    const kept = await object.subscriptions();
    return kept.length;
  });
}

it("a deleted tenant leaves nothing in the sessions that remembered something", async () => {
  const tenant = await newTenant({ maxStalenessMs: 50 });
  await Promise.all(Array.from({ length: 3 }, () => subscribed(tenant)));
  const nonces = await registerOf(tenant).list(10);
  expect(nonces).toHaveLength(3);
  const key = storageKey(tenant, await createdOf(tenant));
  expect(await Promise.all(nonces.map((nonce) => subscriptionsIn(key, nonce)))).toEqual([1, 1, 1]);
  expect((await ask("DELETE", `/tenants/${tenant}`)).status).toBe(204);
  expect(await Promise.all(nonces.map((nonce) => subscriptionsIn(key, nonce)))).toEqual([0, 0, 0]);
});

it("a session that remembers nothing is not registered with its tenant", async () => {
  const tenant = await newTenant({ maxStalenessMs: 50 });
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } };
  await post(tenant, { method: "initialize", params });
  expect(await registerOf(tenant).list(10)).toEqual([]);
});

it("a new session during the tenant's deletion is refused", async () => {
  const tenant = await newTenant({ maxStalenessMs: 50 });
  const register = createRpcClient(oneTenant(tenant, await createdOf(tenant)), statefulSessionStore);
  expect(await register.register("nonce-before", Date.now() + 60_000, OWNERSHIP)).toBe(true);
  await ask("DELETE", `/tenants/${tenant}`);
  await expect(register.register("nonce-after", Date.now() + 60_000, OWNERSHIP)).rejects.toThrow("unknownTenant");
});

it("a tenant with more sessions than one request may end is deleted over several requests", async () => {
  const tenant = await newTenant({ maxStalenessMs: 50 });
  await inside(tenantOf(tenant), ({ storage }) =>
    storage.sql.exec(
      `WITH RECURSIVE numbers (at) AS (SELECT 1 UNION ALL SELECT at + 1 FROM numbers WHERE at < 1700)
         INSERT INTO stateful_sessions (nonce, expires) SELECT 'many-' || at, ? FROM numbers`,
      Date.now() + 60_000,
    ),
  );
  // As the platform counts the calls of an invocation. Objects that nobody ever called need not be made for it.
  let calls = 0;
  const ended: string[] = [];
  const end = async (name: string) => {
    calls += 1;
    if (calls > 1000) throw new Error("Too many subrequests by single Worker invocation.");
    ended.push(name);
  };
  const SessionObject = {
    getByName: (name: string) => ({ end: () => end(name) }),
  } as unknown as typeof exports.SessionObject;
  const statuses: number[] = [];
  while (statuses.at(-1) !== 204 && statuses.length < 5) {
    calls = 0;
    const { status, headers } = await ask("DELETE", `/tenants/${tenant}`, { env: { SessionObject } });
    statuses.push(status);
    expect(headers.get("retry-after")).toBe(status === 204 ? null : "1");
  }
  expect(statuses).toEqual([503, 503, 204]);
  expect(new Set(ended).size).toBe(1700);
});
