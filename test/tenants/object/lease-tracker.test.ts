import { evictDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import type { TenantDocument } from "../../../src/tenants/document/tenant-document.ts";
import type { LeaseRequest } from "../../../src/tenants/object/policy-records.ts";
import type { DocumentWrite, PolicyMethods } from "../../../src/tenants/object/policy-rpc.ts";
import { policyStore } from "../../../src/tenants/object/policy-store.ts";
import { createRpcClient } from "../../../src/tenants/object/store.ts";
import { freshTenant, withStore, rowsOf, type OpenedStore } from "../../support/workerd/tenant.ts";

const ANN = { name: "ann" };
const SLACK_MS = 100;

const ask = (about: Partial<LeaseRequest> = {}): LeaseRequest => ({
  version: null,
  maxStalenessMs: 1000,
  inCode: false,
  keyHash: null,
  ...about,
});

const writeOf = (own: TenantDocument, about: Partial<DocumentWrite> = {}): DocumentWrite => ({
  own,
  effective: own,
  deprecatedNames: [],
  ifRevision: null,
  actor: ANN,
  action: "apply",
  ...about,
});

/** A tenant that was made with this document, with its store opened. */
function made(own: TenantDocument, work: (store: OpenedStore<PolicyMethods>) => void | Promise<void>): Promise<void> {
  return withStore(policyStore, (store) => {
    store.methods.create({ own, effective: own, actor: ANN, action: "create" });
    return work(store);
  });
}

type Ruled = Pick<OpenedStore<PolicyMethods>, "methods" | "clock">;

/** When everything that was withdrawn so far is in force, by the object's clock. */
const inForceAt = ({ methods, clock }: Ruled) => clock.now + methods.leftMs();

const dropOf = ({ methods, clock }: Ruled) => {
  const done = methods.suspend({ kind: "tenant", name: "", note: "n" }, ANN);
  return done.state === "written" ? clock.now + done.leftMs : done.state;
};

describe("the lease rule", () => {
  it("waits for nothing where no lease was ever granted", async () => {
    await made({}, ({ methods, clock }) => {
      expect(inForceAt({ methods, clock })).toBe(clock.now);
      expect(dropOf({ methods, clock })).toBe(clock.now);
    });
  });

  it("waits for the last lease, its staleness and the slack", async () => {
    await made({ maxStalenessMs: 700 }, ({ methods, clock }) => {
      methods.lease(ask());
      clock.now += 200;
      methods.lease(ask());
      const last = clock.now;
      clock.now += 500;
      expect(dropOf({ methods, clock })).toBe(last + 700 + SLACK_MS);
    });
  });

  it("goes by what the isolate says where the document says nothing", async () => {
    await made({}, ({ methods, clock }) => {
      methods.lease(ask({ maxStalenessMs: 1234 }));
      expect(dropOf({ methods, clock })).toBe(clock.now + 1234 + SLACK_MS);
    });
  });

  it("keeps the slack for a write that comes just after the end of the last lease", async () => {
    await made({ maxStalenessMs: 700 }, ({ methods, clock }) => {
      methods.lease(ask());
      const end = clock.now + 700;
      clock.now = end + 1;
      expect(inForceAt({ methods, clock })).toBe(end + SLACK_MS);
      clock.now = end + SLACK_MS;
      expect(inForceAt({ methods, clock })).toBe(clock.now);
      clock.now += 1;
      expect(inForceAt({ methods, clock })).toBe(clock.now);
    });
  });

  it("waits as long as the longest lease that was given, when the staleness is lowered", async () => {
    await made({ maxStalenessMs: 60_000 }, ({ methods, clock }) => {
      methods.lease(ask());
      const end = clock.now + 60_000;
      methods.write(writeOf({ maxStalenessMs: 50 }));
      clock.now += 100;
      methods.lease(ask());
      expect(dropOf({ methods, clock })).toBe(end + SLACK_MS);
    });
  });

  it("waits for a lease of a length between the longest and the current one", async () => {
    await made({ maxStalenessMs: 60_000 }, ({ methods, clock }) => {
      methods.lease(ask());
      methods.write(writeOf({ maxStalenessMs: 30_000 }));
      clock.now += 50_000;
      methods.lease(ask());
      const end = clock.now + 30_000;
      methods.write(writeOf({ maxStalenessMs: 50 }));
      clock.now += 10_001;
      methods.lease(ask());
      expect(dropOf({ methods, clock })).toBe(end + SLACK_MS);
      clock.now = end + 1;
      methods.lease(ask());
      expect(dropOf({ methods, clock })).toBe(clock.now + 50 + SLACK_MS);
    });
  });

  it("forgets a length when no lease of it can be valid any more", async () => {
    const tenant = freshTenant();
    const long = { maxStalenessMs: 60_000 };
    await withStore(
      policyStore,
      async ({ methods, clock, sql }) => {
        methods.create({ own: long, effective: long, actor: ANN, action: "create" });
        methods.lease(ask());
        methods.write(writeOf({ maxStalenessMs: 50 }));
        clock.now += 60_000;
        methods.lease(ask());
        expect(sql.exec("SELECT longest FROM leases").toArray()).toEqual([{ longest: 60_000 }]);
        clock.now += 1;
        methods.lease(ask());
        expect(dropOf({ methods, clock })).toBe(clock.now + 50 + SLACK_MS);
        await expect.poll(() => sql.exec("SELECT longest FROM leases").toArray()).toEqual([{ longest: 50 }]);
      },
      { tenant },
    );
    await withStore(
      policyStore,
      ({ methods, clock }) => expect(inForceAt({ methods, clock })).toBe(clock.now + 50 + SLACK_MS),
      {
        tenant,
      },
    );
  });

  it("waits for no lease of an absent tenant", async () => {
    await withStore(policyStore, ({ methods, clock }) => {
      expect(methods.lease(ask())).toEqual({ state: "absent" });
      expect(inForceAt({ methods, clock })).toBe(clock.now);
    });
  });

  it("takes a lease of the longest kind to have been granted just before a restart", async () => {
    const tenant = freshTenant();
    const first = ({ methods }: OpenedStore<PolicyMethods>) => {
      methods.create({
        own: { maxStalenessMs: 2000 },
        effective: { maxStalenessMs: 2000 },
        actor: ANN,
        action: "create",
      });
      methods.lease(ask());
      methods.write(writeOf({ maxStalenessMs: 50 }));
      methods.lease(ask());
    };
    await withStore(policyStore, first, { tenant });
    await withStore(
      policyStore,
      ({ methods, clock }) => {
        const started = clock.now;
        expect(dropOf({ methods, clock })).toBe(started + 2000 + SLACK_MS);
        clock.now += 5000;
        expect(inForceAt({ methods, clock })).toBe(clock.now);
      },
      { tenant },
    );
  });

  it("waits for nothing after a restart where no lease was ever granted", async () => {
    const tenant = freshTenant();
    const create = ({ methods }: OpenedStore<PolicyMethods>) =>
      methods.create({ own: {}, effective: {}, actor: ANN, action: "create" });
    await withStore(policyStore, create, { tenant });
    await withStore(policyStore, ({ methods, clock }) => expect(inForceAt({ methods, clock })).toBe(clock.now), {
      tenant,
    });
  });

  it("holds in the real object, over an eviction", async () => {
    const tenant = freshTenant();
    const policy = createRpcClient(tenant.stub, policyStore);
    await policy.create({ own: {}, effective: {}, actor: ANN, action: "create" });
    await policy.lease(ask({ maxStalenessMs: 300_000 }));
    await evictDurableObject(tenant.object);
    const before = Date.now();
    expect(Date.now() + (await policy.leftMs())).toBeGreaterThanOrEqual(before + 300_000 + SLACK_MS - 1000);
    expect(await rowsOf(tenant, "SELECT longest FROM leases")).toEqual([{ longest: 300_000 }]);
  });
});
