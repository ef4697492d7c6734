import { describe, expect, it, vi } from "vitest";
import { KEY_LIFETIME_MS, authorityStore } from "../../../src/tenants/object/authority-store.ts";
import { keyIdsOf } from "../../../src/auth/seal.ts";
import type { LeaseRequest, GrantedLease } from "../../../src/tenants/object/policy-records.ts";
import type { PolicyMethods } from "../../../src/tenants/object/policy-rpc.ts";
import { policyStore } from "../../../src/tenants/object/policy-store.ts";
import { migrate } from "../../../src/tenants/object/store.ts";
import { freshTenant, inside, onBench, type Bench } from "../../support/workerd/tenant.ts";

const ANN = { name: "ann" };
const HOUR = 3_600_000;
const KEYED: LeaseRequest = { version: null, maxStalenessMs: 1000, inCode: false, keyHash: "hash of k1" };
const KEY = { id: "k1", hash: "hash of k1", name: "ci", scopes: null, profile: null, expires: null };

type OnBench = Bench<PolicyMethods>;

/** A tenant with a key, to which one lease was given. */
async function leased(work: (bench: OnBench) => unknown, isFull?: () => boolean): Promise<void> {
  const tenant = freshTenant();
  await inside(tenant, ({ storage }) => {
    migrate(storage.sql, [authorityStore]);
  });
  await onBench(
    policyStore,
    async (bench) => {
      bench.methods.create({ own: {}, effective: {}, actor: ANN, action: "create" });
      bench.methods.addKey(KEY, ANN);
      bench.methods.lease({ ...KEYED, keyHash: null });
      await work(bench);
    },
    { tenant, ...(isFull && { isFull }) },
  );
}

const storedUse = ({ sql }: OnBench) =>
  sql.exec<{ at: string | null }>("SELECT last_used AS at FROM api_keys").one().at;

const used = (at: string) => ({ lastUsed: at });

describe("a lease for a key", () => {
  it("has its use written down once in an hour of the clock", async () => {
    await leased(async (bench) => {
      const { methods, clock } = bench;
      methods.lease(KEYED);
      await expect.poll(() => storedUse(bench)).toBe("2026-11-21T12:00:00.000Z");
      clock.now += HOUR - 1;
      methods.lease(KEYED);
      await scheduler.wait(20);
      expect(storedUse(bench)).toBe("2026-11-21T12:00:00.000Z");
      clock.now += 1;
      methods.lease(KEYED);
      await expect.poll(() => storedUse(bench)).toBe("2026-11-21T13:00:00.000Z");
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
    const first = async (bench: OnBench) => {
      bench.methods.create({ own: {}, effective: {}, actor: ANN, action: "create" });
      bench.methods.addKey(KEY, ANN);
      bench.methods.lease(KEYED);
      await expect.poll(() => storedUse(bench)).toBe("2026-11-21T12:00:00.000Z");
    };
    await onBench(policyStore, first, { tenant });
    const again = async (bench: OnBench) => {
      bench.clock.now += 1000;
      bench.methods.lease(KEYED);
      await scheduler.wait(20);
      expect(storedUse(bench)).toBe("2026-11-21T12:00:00.000Z");
    };
    await onBench(policyStore, again, { tenant });
  });
});

describe("a lease of an isolate that is up to date", () => {
  /** As an isolate asks that was just told all there is. */
  const knowing = ({ methods }: OnBench): LeaseRequest => {
    const ask = { ...KEYED, keyHash: null, endedAfter: null };
    const lease = methods.lease(ask) as GrantedLease;
    const version = { number: lease.version, created: lease.created };
    return { ...ask, version, ring: keyIdsOf(lease.ring), endedAfter: lease.endedSessions?.cursor ?? null };
  };

  it("says that nothing has changed, each time", async () => {
    await leased((bench) => {
      const ask = knowing(bench);
      for (let times = 0; times < 2; times += 1) expect(bench.methods.lease(ask)).toEqual({ state: "unchanged" });
    });
  });

  it.each<[string, (bench: OnBench) => unknown]>([
    ["a suspension", ({ methods }) => methods.suspend({ kind: "tenant", name: "", note: "n" }, ANN)],
    ["a key that is revoked", ({ methods }) => methods.revokeKey("k1", ANN)],
    ["a document", ({ methods }) => methods.changed()],
  ])("hears of %s at the next ask", async (_what, change) => {
    await leased((bench) => {
      const ask = knowing(bench);
      bench.methods.lease(ask);
      change(bench);
      expect(bench.methods.lease(ask)).toMatchObject({ state: "granted", policy: expect.anything() as unknown });
    });
  });

  it("hears that the tenant was deleted", async () => {
    await leased((bench) => {
      const ask = knowing(bench);
      bench.methods.lease(ask);
      bench.methods.close(ask.version?.created ?? "");
      expect(bench.methods.lease(ask)).toEqual({ state: "absent" });
    });
  });

  it("hears of a new sealing key within a minute of its making", async () => {
    await leased((bench) => {
      const ask = knowing(bench);
      bench.methods.lease(ask);
      bench.clock.now += KEY_LIFETIME_MS + 60_000;
      expect(bench.methods.lease(ask)).toMatchObject({ state: "granted" });
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
