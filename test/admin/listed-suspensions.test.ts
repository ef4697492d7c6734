import { env, exports } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { directoryOf } from "../../src/tenants/directory/directory-stub.ts";
import { createTenantUid } from "../../src/tenants/object/tenant-uid.ts";
import { directorySyncStore } from "../../src/tenants/object/directory-sync-store.ts";
import { ask, newTenant } from "../support/workerd/admin.ts";
import { withStore, tenantOf } from "../support/workerd/tenant.ts";

async function listed(id: string): Promise<unknown> {
  const { body } = await ask("GET", `/tenants?limit=500`);
  return (body as { items: { id: string; suspended: unknown }[] }).items.find((one) => one.id === id)?.suspended;
}

const suspensionOf = (sql: SqlStorage) =>
  sql.exec("INSERT INTO suspensions (kind, name, note, since, by_operator) VALUES ('tenant', '', 'x', 'now', 1)");

const AWAY = { DirectoryObject: { getByName: () => ({ setSuspended: () => Promise.reject(new Error("away")) }) } };

describe("the list of tenants", () => {
  it("says that a tenant is suspended, and that it is no more", async () => {
    const id = await newTenant();
    expect(await listed(id)).toBe(false);
    await ask("POST", `/tenants/${id}/suspensions`, { json: { kind: "tenant", note: "Unpaid" } });
    await expect.poll(() => listed(id)).toBe(true);
    await ask("POST", `/tenants/${id}/suspensions`, { json: { kind: "principal", name: "anonymous", note: "x" } });
    await ask("DELETE", `/tenants/${id}/suspensions/tenant`);
    await expect.poll(() => listed(id)).toBe(false);
  });

  it("does not know it of a tenant in code, and says so", async () => {
    expect(await listed("demo")).toBeNull();
  });
});

describe("an update of the directory", () => {
  it("that does not arrive is sent again", async () => {
    const id = await newTenant();
    const tenant = tenantOf(id);
    await withStore(
      directorySyncStore,
      async ({ open, sql }) => {
        suspensionOf(sql);
        await expect(open.alarm?.(0)).rejects.toThrow("away");
      },
      { tenant, env: AWAY },
    );
    expect(await listed(id)).toBe(false);
    await withStore(
      directorySyncStore,
      async ({ open }) => {
        await open.alarm?.(0);
      },
      { tenant, env: { DirectoryObject: exports.DirectoryObject } },
    );
    expect(await listed(id)).toBe(true);
  });

  it("that arrives late does not undo a later one, and one of an earlier tenant of the name is ignored", async () => {
    const id = await newTenant();
    const { entry } = await directoryOf(env, id).lookup(id);
    const created = entry?.created ?? "";
    const told = async (isSuspended: boolean, version: number, of = created) => {
      await directoryOf(env, id).setSuspended({ id, created: of }, Number(isSuspended), version);
      return listed(id);
    };
    expect(await told(true, 1)).toBe(true);
    expect(await told(false, 3)).toBe(false);
    expect(await told(true, 2)).toBe(false);
    expect(await told(true, 3)).toBe(false);
    expect(await told(true, 9, createTenantUid(Date.now()))).toBe(false);
    expect(await told(true, 4)).toBe(true);
  });
});
