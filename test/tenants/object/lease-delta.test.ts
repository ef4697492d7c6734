// The rule itself is tested with the tables of the policy.

import { describe, expect, it } from "vitest";
import { createChangeClient } from "../../../src/tenants/object/change-rpc.ts";
import { endedSessionStore } from "../../../src/tenants/object/ended-session-store.ts";
import type { LeaseRequest, GrantedLease } from "../../../src/tenants/object/policy-records.ts";
import { policyStore } from "../../../src/tenants/object/policy-store.ts";
import { createRpcClient } from "../../../src/tenants/object/store.ts";
import { listenAt } from "../../support/workerd/hubs.ts";
import { freshTenant, type FreshTenant, NO_UID } from "../../support/workerd/tenant.ts";

const ANN = { name: "ann" };

async function leaseOf({ stub }: FreshTenant, about: Partial<LeaseRequest> = {}): Promise<GrantedLease> {
  const ask = { version: null, maxStalenessMs: 1000, inCode: true, keyHash: null, ...about };
  return (await createRpcClient(stub, policyStore).lease(ask)) as GrantedLease;
}

describe("a lease", () => {
  it("carries the sessions that ended since the last one", async () => {
    const tenant = freshTenant();
    const { version: number, created } = await leaseOf(tenant);
    const version = { number, created };
    const ended = createRpcClient(tenant.stub, endedSessionStore);
    expect((await leaseOf(tenant, { version, endedAfter: null })).endedSessions).toEqual({
      cursor: 0,
      nonces: [],
      since: 0,
    });
    await ended.endSession("a", Date.now() + 60_000);
    expect((await leaseOf(tenant, { version, endedAfter: 0 })).endedSessions).toEqual({
      cursor: 1,
      nonces: ["a"],
      since: 0,
    });
    expect((await leaseOf(tenant, { version, endedAfter: 1 })).endedSessions).toBeNull();
  });

  it("carries none if the isolate does not ask", async () => {
    const tenant = freshTenant();
    await leaseOf(tenant);
    await createRpcClient(tenant.stub, endedSessionStore).endSession("a", Date.now() + 60_000);
    expect((await leaseOf(tenant)).endedSessions).toBeNull();
  });

  it("carries all of them if the isolate knew an earlier tenant of this name", async () => {
    const tenant = freshTenant();
    await leaseOf(tenant);
    await createRpcClient(tenant.stub, endedSessionStore).endSession("a", Date.now() + 60_000);
    const version = { number: 1, created: "2020-01-01T00:00:00.000Z" };
    const { endedSessions: ended } = await leaseOf(tenant, { version, endedAfter: 500 });
    expect(ended).toEqual({ cursor: 1, nonces: ["a"], since: 0 });
  });
});

it("a withdrawal reaches streams when the last lease has ended, and applies at once", async () => {
  const tenant = freshTenant();
  const policy = createRpcClient(tenant.stub, policyStore);
  await policy.create({ created: NO_UID, own: {}, effective: {}, actor: ANN, action: "create" });
  const listener = await listenAt(tenant.id);
  await createChangeClient(tenant.stub).listen(null);
  await leaseOf(tenant, { maxStalenessMs: 200 });
  const before = Date.now();
  const written = await policy.suspend({ kind: "tool", name: "add", note: "n" }, ANN);
  const effectiveAt = written.state === "written" ? before + written.leftMs : 0;
  expect(await listener.next()).toMatchObject({ check: 2, policy: false });
  expect(await listener.next()).toMatchObject({ check: null, policy: true });
  expect(Date.now()).toBeGreaterThanOrEqual(effectiveAt);
});
