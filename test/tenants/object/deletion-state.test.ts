import { runDurableObjectAlarm } from "cloudflare:test";
import { afterEach, expect, it, vi } from "vitest";
import { TOMBSTONE_MS, createDeletionState } from "../../../src/tenants/object/deletion-state.ts";
import { policyStore } from "../../../src/tenants/object/policy-store.ts";
import { createRpcClient } from "../../../src/tenants/object/store.ts";
import { freshTenant, inside, rowsOf, type FreshTenant } from "../../support/workerd/tenant.ts";

afterEach(() => {
  vi.useRealTimers();
});

const CREATED = "2026-11-21T10:00:00.123456Z";
const NOW = Date.UTC(2026, 10, 21, 12);

/** On real storage; `again` is what a later instance of the object finds there. */
function onStorage(
  work: (
    closure: ReturnType<typeof createDeletionState>,
    again: () => ReturnType<typeof createDeletionState>,
    storage: DurableObjectStorage,
  ) => Promise<void> | void,
): Promise<void> {
  return inside(freshTenant(), ({ storage }) =>
    work(createDeletionState(storage), () => createDeletionState(storage), storage),
  );
}

it("an object is open until it is closed, and stays closed over a restart", async () => {
  await onStorage((closure, again) => {
    expect([closure.isClosed(), again().isClosed()]).toEqual([false, false]);
    closure.close(CREATED);
    expect([closure.isClosed(), again().isClosed(), again().erasedUntil()]).toEqual([true, true, undefined]);
    closure.reopen();
    expect([closure.isClosed(), again().isClosed()]).toEqual([false, false]);
  });
});

it("an object that is erased remembers nothing but that", async () => {
  await onStorage(async (closure, again, storage) => {
    storage.kv.put("other", 1);
    expect(await closure.erase(NOW)).toBe(NOW + TOMBSTONE_MS);
    expect([...storage.kv.list()].map(([key]) => key)).toEqual(["closure"]);
    expect(storage.sql.exec("SELECT name FROM sqlite_master WHERE name = 'tenant'").toArray()).toEqual([]);
    expect([closure.isClosed(), again().isClosed()]).toEqual([true, true]);
    expect([closure.erasedUntil(), again().erasedUntil()]).toEqual([NOW + TOMBSTONE_MS, NOW + TOMBSTONE_MS]);
  });
});

it("an object that was erased opens again for a tenant that takes the name", async () => {
  await onStorage(async (closure, again) => {
    await closure.erase(NOW);
    closure.reopen();
    expect([closure.isClosed(), again().isClosed(), again().erasedUntil()]).toEqual([false, false, undefined]);
  });
});

it("an object that forgets has nothing stored, not even that it was closed", async () => {
  await onStorage(async (closure, again, storage) => {
    await closure.erase(NOW);
    await closure.forget();
    expect([closure.isClosed(), again().isClosed(), [...storage.kv.list()]]).toEqual([false, false, []]);
  });
});

const ANN = { name: "ann" };
const policyOf = ({ stub }: FreshTenant) => createRpcClient(stub, policyStore);
const ownOf = (tenant: FreshTenant) => rowsOf(tenant, "SELECT own FROM tenant");

/** A tenant that was made, closed and erased; the clock is the test's. */
async function deleted(): Promise<FreshTenant> {
  vi.useFakeTimers({ toFake: ["Date"] });
  const tenant = freshTenant();
  const policy = policyOf(tenant);
  await policy.create({ own: {}, effective: {}, actor: ANN, action: "create" });
  await policy.close(CREATED);
  await policy.erase();
  return tenant;
}

async function anHourLater(tenant: FreshTenant): Promise<void> {
  vi.setSystemTime(Date.now() + TOMBSTONE_MS + 1);
  await runDurableObjectAlarm(tenant.object);
}

it("what is written to a tenant in code that has the name of one that was deleted is kept", async () => {
  const tenant = await deleted();
  const policy = policyOf(tenant);
  const ask = { version: null, maxStalenessMs: 50, inCode: true, keyHash: null };
  expect(await policy.lease(ask)).toMatchObject({ state: "granted" });
  const own = { title: "mine" };
  await policy.write({ own, effective: own, deprecatedNames: [], ifRevision: null, actor: ANN, action: "apply" });
  await policy.suspend({ kind: "tool", name: "note", note: "broken" }, ANN);
  expect(await policy.setSecret("TOKEN", "sealed", ANN)).toMatchObject({ state: "written" });
  await anHourLater(tenant);
  expect(await ownOf(tenant)).toEqual([{ own: '{"title":"mine"}' }]);
  expect(await rowsOf(tenant, "SELECT name FROM suspensions")).toEqual([{ name: "note" }]);
});

it("a deletion that goes on does not erase the tenant in code that took the name", async () => {
  const tenant = freshTenant();
  const policy = policyOf(tenant);
  await policy.create({ own: {}, effective: {}, actor: ANN, action: "create" });
  await policy.close(CREATED);
  await policy.read(true);
  await policy.erase();
  expect(await ownOf(tenant)).toEqual([{ own: "{}" }]);
});
