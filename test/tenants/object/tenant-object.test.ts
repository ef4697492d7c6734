import { evictDurableObject, runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import { createResourceStore } from "../../../src/resources/tenant-resource-store.ts";
import { contentStore } from "../../../src/resources/content-store.ts";
import { createStoreObject } from "../../../src/tenants/object/store-object.ts";
import { createRpcClient, type StoreHost, type Store } from "../../../src/tenants/object/store.ts";
import {
  contentSideOf,
  failureOf,
  freshTenant,
  inside,
  rowsOf,
  type FreshTenant,
} from "../../support/workerd/tenant.ts";

function storeOf({ id, content }: FreshTenant) {
  return createResourceStore({ storageKey: id, content: createRpcClient(content, contentStore), bodies: env.BODIES });
}

function alarmOf(tenant: FreshTenant): Promise<number | null> {
  return inside(tenant, ({ storage }) => storage.getAlarm());
}

const BIG = new Uint8Array(300_000);

it("a tenant's object sets no alarm while nothing has to be done later", async () => {
  const tenant = contentSideOf(freshTenant());
  expect(await storeOf(tenant).get("note:none")).toBeUndefined();
  expect(await alarmOf(tenant)).toBeNull();
});

it("a tenant's object sets its alarm to the earliest request", async () => {
  const tenant = contentSideOf(freshTenant());
  const store = storeOf(tenant);
  await store.write({ uri: "note:a", name: "a", blob: BIG });
  await store.delete("note:a");
  const [copy] = await rowsOf(tenant, "SELECT min(expires) AS expires FROM body_copy_parts");
  const [garbage] = await rowsOf(tenant, "SELECT delete_at FROM body_garbage");
  expect(await alarmOf(tenant)).toBe(copy?.expires);
  expect(await alarmOf(tenant)).toBeLessThan(Number(garbage?.delete_at));
});

it("an eviction does not put an alarm off", async () => {
  const tenant = contentSideOf(freshTenant());
  const soon = Date.now() + 60_000;
  await inside(tenant, ({ storage }) => storage.setAlarm(soon));
  await evictDurableObject(tenant.object);
  await storeOf(tenant).write({ uri: "note:a", name: "a", text: "small" });
  expect(await alarmOf(tenant)).toBe(soon);
});

it("an alarm that was rolled back with its transaction is set again", async () => {
  const tenant = contentSideOf(freshTenant());
  const store = storeOf(tenant);
  await store.write({ uri: "note:a", name: "a", blob: BIG });
  const nameless = { ...(await rowsOf(tenant, "SELECT * FROM resources"))[0], name: null, hash: "other", tags: [] };
  const put = { row: nameless, searchText: "", copy: null, ifAbsent: false, resendToken: null };
  expect(String(await failureOf(tenant, "content.put", put))).toContain("NOT NULL");
  // The old body is kept after all; the new one, which was uploaded before, is to be deleted.
  expect(await rowsOf(tenant, "SELECT hash FROM body_garbage")).toEqual([{ hash: "other" }]);
  expect(await alarmOf(tenant)).toBeGreaterThan(Date.now());
  await store.delete("note:a");
  expect(await alarmOf(tenant)).toBeGreaterThan(Date.now());
});

it("an alarm sets the next one, until nothing is left to do", async () => {
  const tenant = contentSideOf(freshTenant());
  const store = storeOf(tenant);
  await store.write({ uri: "note:a", name: "a", text: "small" });
  await store.delete("note:a");
  const due = async () => {
    for (const table of ["body_copies", "body_deletions"]) {
      await inside(tenant, ({ storage }) => storage.sql.exec(`UPDATE ${table} SET expires = 1`));
    }
  };
  await due();
  expect(await runDurableObjectAlarm(tenant.object)).toBe(true);
  const [garbage] = await rowsOf(tenant, "SELECT delete_at FROM body_garbage");
  expect(await alarmOf(tenant)).toBe(garbage?.delete_at);
  await inside(tenant, ({ storage }) => storage.sql.exec("UPDATE body_garbage SET delete_at = 1"));
  expect(await runDurableObjectAlarm(tenant.object)).toBe(true);
  await due();
  expect(await runDurableObjectAlarm(tenant.object)).toBe(true);
  expect(await alarmOf(tenant)).toBeNull();
  expect(await runDurableObjectAlarm(tenant.object)).toBe(false);
});

const objectWith = (domains: readonly Store[]) =>
  createStoreObject<unknown, StoreHost>(domains, { hostOf: (base) => base });

it("an alarm calls every domain even if one fails, and that one again later", async () => {
  const logged = vi.spyOn(console, "error").mockImplementation(() => {});
  const rung: string[] = [];
  const domain = (name: string, fails: boolean): Store => ({
    name,
    methods: {},
    migrations: [],
    open: () => ({
      methods: {},
      alarm: async () => {
        rung.push(name);
        if (fails) throw new Error("a feature's alarm");
        return undefined;
      },
    }),
  });
  const tenant = contentSideOf(freshTenant());
  await inside(tenant, async (state) => {
    const object = new (objectWith([domain("bad", true), domain("good", false)]))(state, env);
    const before = Date.now();
    await object.alarm?.();
    expect(rung).toEqual(["bad", "good"]);
    await vi.waitFor(async () => expect((await state.storage.getAlarm()) ?? 0).toBeGreaterThanOrEqual(before + 60_000));
  });
  expect(logged).toHaveBeenCalledOnce();
  logged.mockRestore();
});

it("an alarm rings again for all domains where the instance ends before the last of them is done", async () => {
  const tomorrow = Date.now() + 86_400_000;
  const answered = Promise.withResolvers<undefined>();
  const rung: string[] = [];
  const domain = (name: string, alarm: () => Promise<number | undefined>): Store => ({
    name,
    methods: {},
    migrations: [],
    open: () => ({
      methods: {},
      alarm: () => {
        rung.push(name);
        return alarm();
      },
    }),
  });
  await inside(contentSideOf(freshTenant()), async (state) => {
    const domains = [
      domain("waiting", () => answered.promise),
      domain("later", async () => tomorrow),
      domain("last", async () => undefined),
    ];
    const object = new (objectWith(domains))(state, env);
    // As the platform does before it rings: the instance knows of no alarm yet.
    await state.blockConcurrencyWhile(async () => {});
    const ringing = Date.now() + 60_000;
    await state.storage.setAlarm(ringing);
    const done = object.alarm?.();
    await scheduler.wait(20);
    // One that waits keeps no other waiting, and nothing has taken the place of the alarm that is ringing.
    expect([rung, await state.storage.getAlarm()]).toEqual([["waiting", "later", "last"], ringing]);
    answered.resolve(undefined);
    await done;
    expect(await state.storage.getAlarm()).toBe(tomorrow);
  });
});
