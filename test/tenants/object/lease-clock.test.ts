// The object's clock was ahead when it granted a lease. A withdrawal waits no longer than a lease lasts: isolates end
// each lease by then, too.

import { expect, it } from "vitest";
import { policyStore } from "../../../src/tenants/object/policy-store.ts";
import { withStore } from "../../support/workerd/tenant.ts";

const HOUR = 3_600_000;
const LEASE_MS = 5000;

it("what changes is in force after one lease, though the clock was an hour ahead when it was given", async () => {
  await withStore(policyStore, ({ methods, clock }) => {
    methods.create({ own: {}, effective: {}, actor: { name: "ann" }, action: "create" });
    methods.lease({ version: null, maxStalenessMs: LEASE_MS, inCode: false, keyHash: null });
    clock.now += 1000;
    expect(methods.changed()).toBe(LEASE_MS - 1000 + 100);
    clock.now -= HOUR;
    expect(methods.changed()).toBe(LEASE_MS + 100);
  });
});
