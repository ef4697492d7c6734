import { expect, describe, it } from "vitest";
import type { BlockList } from "../../../src/tenants/object/policy-records.ts";
import type { PolicyMethods } from "../../../src/tenants/object/policy-rpc.ts";
import { policyStore } from "../../../src/tenants/object/policy-store.ts";
import { createTenantUid } from "../../../src/tenants/object/tenant-uid.ts";
import { createRpcClient } from "../../../src/tenants/object/store.ts";
import { servedTenant } from "../../support/workerd/served-tenant.ts";
import { anyTenant, withStore, oneTenant, rowsOf, tenantOf } from "../../support/workerd/tenant.ts";

const ANN = { name: "ann" };
const SINCE = "2026-11-28T00:00:00.000Z";
const listOf = (version: number, ...names: string[]): BlockList => ({
  version,
  blocks: names.map((name) => ({ name, note: "recalled", since: SINCE })),
});
const ask = { version: null, maxStalenessMs: 1000, inCode: false, keyHash: null };

type Methods = PolicyMethods;

function leased(methods: Methods): string[] {
  const answer = methods.lease(ask);
  const { suspensions = [] } = answer.state === "granted" ? (answer.policy ?? {}) : {};
  return suspensions.map(({ kind, name }) => `${kind} ${name}`);
}

describe("the blocks of a tenant", () => {
  it("replace one another by their version, and say how long what was before may be served", async () => {
    await withStore(policyStore, ({ methods }) => {
      methods.create({ created: "c", own: {}, effective: {}, actor: ANN, action: "create" });
      expect(methods.takeBlocks(listOf(5, "add"), "c")).toEqual({ version: 5, leftMs: 0 });
      expect(leased(methods)).toEqual(["tool add"]);
      expect(methods.takeBlocks(listOf(4), "c")).toMatchObject({ version: 5 });
      expect(leased(methods)).toEqual(["tool add"]);
      expect(methods.takeBlocks(listOf(6, "greet"), "c")).toEqual({ version: 6, leftMs: 1100 });
      expect(leased(methods)).toEqual(["tool greet"]);
      expect(methods.read(false)).toMatchObject({ suspensions: [], blocks: listOf(6, "greet") });
    });
  });

  it("raise the revision if they changed, and not if they are sent again", async () => {
    await withStore(policyStore, ({ methods }) => {
      methods.create({ created: "c", own: {}, effective: {}, actor: ANN, action: "create" });
      methods.takeBlocks(listOf(1, "add"), "c");
      expect(methods.read(false)).toMatchObject({ revision: 2 });
      methods.takeBlocks(listOf(2, "add"), "c");
      expect(methods.read(false)).toMatchObject({ revision: 2, blocks: { version: 2 } });
    });
  });

  it("and suspensions of the tenant's own leave each other alone", async () => {
    await withStore(policyStore, ({ methods }) => {
      methods.create({ created: "c", own: {}, effective: {}, actor: ANN, action: "create" });
      methods.suspend({ kind: "tool", name: "add", note: "ours" }, ANN);
      methods.takeBlocks(listOf(1, "add"), "c");
      expect(leased(methods)).toEqual(["tool add", "tool add"]);
      methods.resume("tool", "add", ANN);
      expect(leased(methods)).toEqual(["tool add"]);
      expect(methods.resume("tool", "add", ANN).state).toBe("unchanged");
      const own = { title: "next" };
      methods.write({ own, effective: own, deprecatedNames: [], ifRevision: null, actor: ANN, action: "apply" });
      expect(leased(methods)).toEqual(["tool add"]);
    });
  });

  it("that arrived before the tenant's creation stay if the creation brings older ones", async () => {
    await withStore(policyStore, ({ methods }) => {
      methods.takeBlocks(listOf(7, "add"), "c");
      const birth = { created: "c", own: {}, effective: {}, actor: ANN, action: "create" };
      methods.create({ ...birth, blocks: listOf(3) });
      expect(leased(methods)).toEqual(["tool add"]);
    });
  });

  it("do not apply to a deleted tenant, and apply to the next one of its name", async () => {
    const { id } = await servedTenant();
    const [created = ""] = (await rowsOf(tenantOf(id), "SELECT created FROM tenant")).map((row) =>
      String(row["created"]),
    );
    const policy = createRpcClient(anyTenant(id), policyStore);
    await policy.close(created);
    expect(await policy.takeBlocks(listOf(1, "add"), created)).toBeNull();
    await policy.erase();
    expect(await policy.takeBlocks(listOf(1, "add"), created)).toBeNull();
    const next = createTenantUid(Date.now());
    expect(await createRpcClient(oneTenant(id, next), policyStore).takeBlocks(listOf(1, "add"), next)).toMatchObject({
      version: 1,
    });
  });
});

describe("a suspension that comes late", () => {
  const late = (methods: Methods, version: number) => methods.suspendLate("n", ANN, { version, inCode: false });

  it("suspends, unless the tenant was resumed since, or is suspended already", async () => {
    await withStore(policyStore, ({ methods }) => {
      methods.create({ created: "c", own: {}, effective: {}, actor: ANN, action: "create" });
      methods.resume("tenant", "", ANN, 8);
      expect(late(methods, 7).state).toBe("unchanged");
      expect(leased(methods)).toEqual([]);
      expect(late(methods, 9).state).toBe("written");
      expect(leased(methods)).toEqual(["tenant "]);
      expect(late(methods, 10).state).toBe("unchanged");
    });
  });
});
