// A domain with tables of its own that no other file knows.

import { expect, it } from "vitest";
import { createChangeDomain } from "../../../src/tenants/object/change-store.ts";
import { policyStore } from "../../../src/tenants/object/policy-store.ts";
import { openStores, type StoreHost, type Store } from "../../../src/tenants/object/store.ts";
import { countWrites } from "../../../src/tenants/object/count-writes.ts";
import { createTenantHost, type TenantHost } from "../../../src/tenants/object/tenant-host.ts";
import { sectionHashStore } from "../../../src/tenants/object/section-hash-store.ts";
import { sectionStore } from "../../../src/tenants/object/section-store.ts";
import { freshTenant, inside, NO_CLOSURE } from "../../support/workerd/tenant.ts";

const NOW = Date.UTC(2026, 10, 21, 12);
const ANN = { name: "ann" };

interface OwnMethods {
  grant(): { readonly revision: number; readonly effectiveAt: number };
  refresh(hash: string): boolean;
}

const ownTables: Store<OwnMethods, TenantHost> = {
  name: "own",
  methods: { grant: {}, refresh: {} },
  migrations: ["CREATE TABLE own (name TEXT PRIMARY KEY)"],
  open: (host) => ({
    methods: {
      grant: () =>
        host.transaction(() => {
          host.record(ANN, "own.grant", "own thing", { before: null, after: { granted: true } });
          return { revision: host.incrementRevision({ principal: "key one" }), effectiveAt: host.effectiveAt() };
        }),
      refresh: (hash) => host.definitionsChanged("own", hash),
    },
  }),
};

function opened<R>(work: (tables: ReturnType<typeof openStores>, policyChanges: unknown[]) => R): Promise<R> {
  return inside(freshTenant(), ({ storage }) => {
    const policyChanges: unknown[] = [];
    const changes = createChangeDomain("definitions");
    const base: StoreHost = {
      ...countWrites(storage.sql),
      env: {},
      tenant: "tenant",
      storageKey: () => "tenant",
      jurisdiction: null,
      now: () => NOW,
      transaction: (step) => storage.transactionSync(step),
      scheduleAlarm: () => {},
      changes: {
        ...changes.log,
        policy: (...about) => {
          policyChanges.push(about);
        },
      },
      deletion: NO_CLOSURE,
      erase: async () => {},
      hasCapacity: () => true,
    };
    const tables = [changes.store, policyStore, sectionHashStore, sectionStore, ownTables];
    return work(
      openStores<TenantHost>(tables, base, (own) => createTenantHost(own)),
      policyChanges,
    );
  });
}

it("a change by a domain reaches leases, returns when it is in force, and is in the audit log", async () => {
  await opened((tables, policyChanges) => {
    const policy = policyOf(tables);
    policy.create({ own: {}, effective: {}, actor: ANN, action: "create" });
    policy.lease({ version: null, maxStalenessMs: 1000, inCode: false, keyHash: null });
    expect(ownOf(tables).grant()).toEqual({ revision: 2, effectiveAt: NOW + 1100 });
    expect(policyChanges).toEqual([[2, NOW + 1100, { principal: "key one" }]]);
    expect(policy.audit({ before: null, limit: 1 })).toMatchObject([{ actor: "ann", action: "own.grant" }]);
    expect(policy.lease({ version: null, maxStalenessMs: 1000, inCode: false, keyHash: null })).toMatchObject({
      version: 2,
    });
  });
});

it("a domain announces definitions only if their digest changed", async () => {
  await opened((tables, policyChanges) => {
    policyOf(tables).create({ own: {}, effective: {}, actor: ANN, action: "create" });
    expect(["a", "a", "b", "b"].map((hash) => ownOf(tables).refresh(hash))).toEqual([true, false, true, false]);
    expect(policyChanges).toHaveLength(2);
    const lease = policyOf(tables).lease({ version: null, maxStalenessMs: 1000, inCode: false, keyHash: null });
    expect(lease).toMatchObject({ version: 3, sections: [["own", "b"]] });
  });
});

type Opened = ReturnType<typeof openStores>;
const ownOf = (tables: Opened) => tables.get("own")?.methods as OwnMethods;
const policyOf = (tables: Opened) => tables.get("policy")?.methods as ReturnType<typeof policyStore.open>["methods"];
