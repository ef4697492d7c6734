// An acknowledged withdrawal means that streams ended, too. While a hub of the tenant is away, the answer is 503.

import { runInDurableObject } from "cloudflare:test";
import { exports } from "cloudflare:workers";
import { expect, it, onTestFinished } from "vitest";
import { createChangeClient } from "../../src/tenants/object/change-rpc.ts";
import { hubName } from "../../src/tenants/object/changes.ts";
import { storageKey } from "../../src/tenants/object/tenant-uid.ts";
import { policyStore } from "../../src/tenants/object/policy-store.ts";
import { createRpcClient } from "../../src/tenants/object/store.ts";
import { newTenant, send } from "../support/workerd/admin.ts";
import { listenAt } from "../support/workerd/hubs.ts";
import { aroundCalls } from "../support/workerd/object-calls.ts";
import { tenantOf } from "../support/workerd/tenant.ts";

const away = new Set<unknown>();
type Publish = (this: object, ...event: unknown[]) => Promise<number>;

/** A tenant with somebody who listens, and how its hub goes away and comes back. */
async function listenedTenant(document: Readonly<Record<string, unknown>>) {
  const id = await newTenant(document);
  const { stub } = tenantOf(id);
  const created = await createRpcClient(stub, policyStore).tenantUid(false);
  const key = storageKey(id, String(created));
  const stream = await listenAt(key);
  await createChangeClient(stub).listen(null);
  const hub = exports.HubObject.getByName(hubName(key, 0));
  const instance = await runInDurableObject(hub, (one: object) => {
    // A method of an object's own is none that can be called from elsewhere.
    const shared = Object.getPrototypeOf(one) as { publish: Publish };
    const { publish } = shared;
    shared.publish = function (...event) {
      if (away.has(this)) throw new Error("Network connection lost.");
      return publish.apply(this, event);
    };
    return [one];
  });
  return {
    id,
    stream,
    leave: () => away.add(instance[0]),
    back: () => away.delete(instance[0]),
  };
}

/** The twelve seconds for which a hub is waited for are over when it was asked about twice. */
async function hurried(id: string): Promise<void> {
  let ahead = 0;
  const end = await aroundCalls(exports.TenantObject.getByName(id), (method, call) => {
    if (method === "changes.pendingCloseMs") ahead += 7000;
    return call();
  });
  const now = Date.now;
  Date.now = () => now() + ahead;
  onTestFinished(() => {
    Date.now = now;
    end();
  });
}

const DETAIL = "open streams may not have ended yet";
const document = { mode: "key", maxStalenessMs: 100, profiles: { p: {} }, tools: { add: { enabled: true } } };

it.each([
  [
    "a key is revoked",
    "DELETE",
    async (id: string) => {
      const made = await send("POST", `/tenants/${id}/keys`, { json: { name: "key" } });
      return { path: `/tenants/${id}/keys/${((await made.json()) as { id: string }).id}` };
    },
  ],
  [
    "a tenant is suspended",
    "POST",
    async (id: string) => ({
      path: `/tenants/${id}/suspensions`,
      json: { kind: "tenant", note: "Unpaid" },
    }),
  ],
  [
    "a document takes a tool away",
    "PUT",
    async (id: string) => ({
      path: `/tenants/${id}/document`,
      json: { ...document, tools: { add: { enabled: false } } },
    }),
  ],
] as const)(
  "where %s, the answer is 503 while a hub is away, and 200 when it is back",
  async (...[, method, asking]) => {
    const { id, leave, back } = await listenedTenant(document);
    const { path, ...more } = { json: undefined, ...(await asking(id)) };
    await hurried(id);
    const ask = () => send(method, path, { ...(more.json === undefined ? {} : more), headers: { "if-match": "*" } });
    leave();
    const refused = await ask();
    expect([refused.status, await refused.text()]).toEqual([503, expect.stringContaining(DETAIL)]);
    // Nothing changes any more, and still nobody knows.
    const again = await ask();
    expect([again.status, await again.text()]).toEqual([503, expect.stringContaining(DETAIL)]);
    back();
    const done = await ask();
    expect([done.status, await done.text()]).toEqual([200, expect.stringContaining('"effectiveAt"')]);
  },
);

it("a document that takes nothing away is answered though a hub is away", async () => {
  const { id, leave } = await listenedTenant(document);
  leave();
  const json = { ...document, profiles: { p: {}, q: {} } };
  const { status } = await send("PUT", `/tenants/${id}/document`, { json, headers: { "if-match": "*" } });
  expect(status).toBe(200);
});
