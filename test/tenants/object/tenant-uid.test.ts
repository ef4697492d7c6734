import { describe, expect, it } from "vitest";
import { authorityStore } from "../../../src/tenants/object/authority-store.ts";
import {
  isUnknownTenant,
  storageKey,
  createTenantStub,
  createTenantUid,
  withCleanup,
  type TenantStub,
} from "../../../src/tenants/object/tenant-uid.ts";
import { policyStore } from "../../../src/tenants/object/policy-store.ts";
import { statefulSessionStore } from "../../../src/tenants/object/stateful-session-store.ts";
import { createRpcClient, type MethodOptions, type Store } from "../../../src/tenants/object/store.ts";
import { freshTenant, withStore, oneTenant, type FreshTenant } from "../../support/workerd/tenant.ts";
import { keeperOf } from "../../support/workerd/object-calls.ts";

const BIRTH = { own: {}, effective: {}, actor: { name: "ann" }, action: "create" };
const NOW = Date.UTC(2026, 10, 21, 12);

async function made(tenant: FreshTenant, created = createTenantUid(Date.now())): Promise<TenantStub> {
  expect(await createRpcClient(tenant.stub, policyStore).create({ ...BIRTH, created })).toMatchObject({
    state: "written",
  });
  return oneTenant(tenant.id, created);
}

async function deleted(tenant: FreshTenant, stub: TenantStub): Promise<void> {
  const policy = createRpcClient(stub, policyStore);
  await policy.close((await createRpcClient(tenant.stub, policyStore).tenantUid(false)) ?? "");
  await policy.erase();
}

/** Every method of these tables; what it is given does not matter to one that is refused. */
function methodsOf(tables: Store): Promise<string[]> {
  return withStore(tables, ({ methods }) => Object.keys(methods));
}

describe("an incarnation", () => {
  it("is a time, and no two are the same however near to each other", () => {
    const many = Array.from({ length: 20 }, () => createTenantUid(NOW));
    expect(new Set(many).size).toBeGreaterThan(15);
    for (const one of many) expect([Date.parse(one), one.length]).toEqual([NOW, 27]);
  });

  it("is part of its storage keys", () => {
    const one = createTenantUid(NOW);
    expect(storageKey("acme", one)).toBe(`acme@${one}`);
  });
});

describe("a tenant's authority", () => {
  const tables = [authorityStore, policyStore, statefulSessionStore] as unknown as Store[];

  it.each(tables.map((one) => [one.name, one] as const))(
    "refuses every method of %s to a deleted tenant, and to one whose name another tenant has",
    async (name, one) => {
      const tenant = freshTenant();
      const first = await made(tenant);
      const methods = await methodsOf(one);
      expect(methods.length).toBeGreaterThan(2);
      await deleted(tenant, first);
      const refused = async (method: string) => {
        try {
          return [method, await first.call(`${name}.${method}`, [], false)];
        } catch (error) {
          return isUnknownTenant(error) ? undefined : [method, String(error)];
        }
      };
      const options = one.methods as Readonly<Record<string, MethodOptions>>;
      for (const method of methods) if (!options[method]?.ending) expect(await refused(method)).toBeUndefined();
      await made(tenant);
      for (const method of methods) expect(await refused(method)).toBeUndefined();
    },
  );

  it("makes no tenant that was deleted before it came into being", async () => {
    const tenant = freshTenant();
    const created = createTenantUid(Date.now());
    await createRpcClient(oneTenant(tenant.id, created), policyStore).close(created);
    expect(await createRpcClient(tenant.stub, policyStore).create({ ...BIRTH, created })).toEqual({ state: "absent" });
    await made(tenant);
  });

  it("does not end a tenant for the end of another", async () => {
    const tenant = freshTenant();
    const first = await made(tenant);
    await deleted(tenant, first);
    const second = await made(tenant);
    await expect(deleted(tenant, first)).rejects.toThrow("unknownTenant");
    expect(await createRpcClient(second, policyStore).read(false)).toMatchObject({ revision: 1 });
  });
});

describe("a call that the platform lost", () => {
  const lost = Object.assign(new Error("Network connection lost."), { retryable: true });
  const overloaded = Object.assign(new Error("Durable Object is overloaded."), { retryable: true, overloaded: true });

  /** An object whose first stub fails; `asked`: what each stub was asked for. */
  function failing(error: Error) {
    const requests: string[] = [];
    let stubs = 0;
    const find = () => {
      const number = (stubs += 1);
      return keeperOf((method, args) => {
        requests.push(`${number} ${method} ${args.join()}`);
        if (number === 1) throw error;
        return { value: "answer" };
      });
    };
    return { stub: createTenantStub(find, "one"), requests };
  }

  it("is made once more, by a new stub, where it is idempotent", async () => {
    const { stub, requests } = failing(lost);
    expect(await stub.call("sums.add", [1, 2], true)).toBe("answer");
    expect(requests).toEqual(["1 sums.add one,1,2", "2 sums.add one,1,2"]);
  });

  it.each([
    ["one that is not idempotent", lost, false],
    ["one that an object has too much of", overloaded, true],
    ["one that the code failed", new Error("a mistake"), true],
  ])("is not made again: %s", async (_what, error, isIdempotent) => {
    const { stub, requests } = failing(error);
    await expect(stub.call("sums.add", [], isIdempotent)).rejects.toBe(error);
    expect(requests).toHaveLength(1);
  });
});

it("a stored body is deleted if its tenant was deleted, and kept if only the answer was lost", async () => {
  const cleared: string[] = [];
  const tenant = freshTenant();
  const gone = createRpcClient(await made(tenant), authorityStore);
  await createRpcClient(tenant.stub, policyStore).close("");
  await expect(withCleanup(gone.markSeeded(), async () => cleared.push("gone"))).rejects.toThrow("unknownTenant");
  const lost = Promise.reject(new Error("Network connection lost."));
  await expect(withCleanup(lost, async () => cleared.push("lost"))).rejects.toThrow("lost");
  expect(cleared).toEqual(["gone"]);
});
