import { describe, expect, it, vi } from "vitest";
import { KEY_LIFETIME_MS, authorityStore } from "../../../src/tenants/object/authority-store.ts";
import { keyIdsOf } from "../../../src/auth/seal.ts";
import type { LeaseRequest, GrantedLease } from "../../../src/tenants/object/policy-records.ts";
import type { PolicyMethods } from "../../../src/tenants/object/policy-rpc.ts";
import { policyStore } from "../../../src/tenants/object/policy-store.ts";
import { migrate } from "../../../src/tenants/object/store.ts";
import { freshTenant, inside, withStore, type OpenedStore } from "../../support/workerd/tenant.ts";

const ANN = { name: "ann" };
const HOUR = 3_600_000;
const KEYED: LeaseRequest = { version: null, maxStalenessMs: 1000, inCode: false, keyHash: "hash of k1" };
const KEY = { id: "k1", hash: "hash of k1", name: "ci", scopes: null, profile: null, expires: null };

type LeaseStore = OpenedStore<PolicyMethods>;

/** A tenant with a key, to which one lease was given. */
async function leased(work: (store: LeaseStore) => unknown, isFull?: () => boolean): Promise<void> {
  const tenant = freshTenant();
  await inside(tenant, ({ storage }) => {
    migrate(storage.sql, [authorityStore]);
  });
  await withStore(
    policyStore,
    async (store) => {
      store.methods.create({ own: {}, effective: {}, actor: ANN, action: "create" });
      store.methods.addKey(KEY, ANN);
      store.methods.lease({ ...KEYED, keyHash: null });
      await work(store);
    },
    { tenant, ...(isFull && { isFull }) },
  );
}

const storedUse = ({ sql }: LeaseStore) =>
  sql.exec<{ at: string | null }>("SELECT last_used AS at FROM api_keys").one().at;

const used = (at: string) => ({ lastUsed: at });

describe("a lease for a key", () => {
  it("has its use written down once in an hour of the clock", async () => {
    await leased(async (store) => {
      const { methods, clock } = store;
      methods.lease(KEYED);
      await expect.poll(() => storedUse(store)).toBe("2026-11-21T12:00:00.000Z");
      clock.now += HOUR - 1;
      methods.lease(KEYED);
      await scheduler.wait(20);
      expect(storedUse(store)).toBe("2026-11-21T12:00:00.000Z");
      clock.now += 1;
      methods.lease(KEYED);
      await expect.poll(() => storedUse(store)).toBe("2026-11-21T13:00:00.000Z");
    });
  });

  it("is among those that were used, as soon as it was given", async () => {
    await leased(({ methods }) => {
      expect(methods.keyPage({ limit: 100 })).toMatchObject([{ lastUsed: null }]);
      methods.lease(KEYED);
      expect(methods.keyPage({ limit: 100 })).toMatchObject([used("2026-11-21T12:00:00.000Z")]);
    });
  });

  it("is not written down again by an object that was away for a while within the hour", async () => {
    const tenant = freshTenant();
    await inside(tenant, ({ storage }) => {
      migrate(storage.sql, [authorityStore]);
    });
    const first = async (store: LeaseStore) => {
      store.methods.create({ own: {}, effective: {}, actor: ANN, action: "create" });
      store.methods.addKey(KEY, ANN);
      store.methods.lease(KEYED);
      await expect.poll(() => storedUse(store)).toBe("2026-11-21T12:00:00.000Z");
    };
    await withStore(policyStore, first, { tenant });
    const again = async (store: LeaseStore) => {
      store.clock.now += 1000;
      store.methods.lease(KEYED);
      await scheduler.wait(20);
      expect(storedUse(store)).toBe("2026-11-21T12:00:00.000Z");
    };
    await withStore(policyStore, again, { tenant });
  });
});

describe("a lease of an isolate that is up to date", () => {
  /** As an isolate asks that was just told all there is. */
  const knowing = ({ methods }: LeaseStore): LeaseRequest => {
    const ask = { ...KEYED, keyHash: null, endedAfter: null };
    const lease = methods.lease(ask) as GrantedLease;
    const version = { number: lease.version, created: lease.created };
    return { ...ask, version, ring: keyIdsOf(lease.ring), endedAfter: lease.endedSessions?.cursor ?? null };
  };

  it("says that nothing has changed, each time", async () => {
    await leased((store) => {
      const ask = knowing(store);
      for (let times = 0; times < 2; times += 1) expect(store.methods.lease(ask)).toEqual({ state: "unchanged" });
    });
  });

  it.each<[string, (store: LeaseStore) => unknown]>([
    ["a suspension", ({ methods }) => methods.suspend({ kind: "tenant", name: "", note: "n" }, ANN)],
    ["a key that is revoked", ({ methods }) => methods.revokeKey("k1", ANN)],
    ["a document", ({ methods }) => methods.changed()],
  ])("hears of %s at the next ask", async (_what, change) => {
    await leased((store) => {
      const ask = knowing(store);
      store.methods.lease(ask);
      change(store);
      expect(store.methods.lease(ask)).toMatchObject({ state: "granted", policy: expect.anything() as unknown });
    });
  });

  it("hears that the tenant was deleted", async () => {
    await leased((store) => {
      const ask = knowing(store);
      store.methods.lease(ask);
      store.methods.close(ask.version?.created ?? "");
      expect(store.methods.lease(ask)).toEqual({ state: "absent" });
    });
  });

  it("hears of a new sealing key within a minute of its making", async () => {
    await leased((store) => {
      const ask = knowing(store);
      store.methods.lease(ask);
      store.clock.now += KEY_LIFETIME_MS + 60_000;
      expect(store.methods.lease(ask)).toMatchObject({ state: "granted" });
    });
  });
});

it("an object that is full gives leases, to keys as well, and revokes", async () => {
  const said = vi.spyOn(console, "error").mockImplementation(() => {});
  let isFull = false;
  await leased(
    async ({ methods, clock }) => {
      isFull = true;
      clock.now += KEY_LIFETIME_MS + HOUR;
      expect(methods.lease(KEYED)).toMatchObject({ state: "granted", key: { id: "k1" } });
      expect(methods.keyPage({ limit: 100 })).toMatchObject([used(new Date(clock.now).toISOString())]);
      await expect.poll(() => said.mock.calls.map(([what]) => what as string)).toContain("last_used:");
      expect(methods.lease(KEYED)).toMatchObject({ state: "granted", key: { id: "k1" } });
      isFull = false;
      expect(methods.revokeKey("k1", ANN)).toMatchObject({ state: "written" });
      expect(methods.lease(KEYED)).toMatchObject({ state: "granted", key: null });
    },
    () => isFull,
  );
  said.mockRestore();
});
