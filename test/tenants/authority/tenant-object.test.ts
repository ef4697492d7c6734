// The one alarm that a tenant's domains share: the earliest wish wins, and nothing makes it forget one.

import { evictDurableObject, runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import { openStore } from "../../../src/content/store/open-store.ts";
import { contentTables } from "../../../src/content/store/content-tables.ts";
import { createTenantObject } from "../../../src/tenants/authority/tenant-object.ts";
import { remote, type Tables } from "../../../src/tenants/authority/tables.ts";
import {
  contentSideOf,
  failureOf,
  freshTenant,
  inside,
  rowsOf,
  type FreshTenant,
} from "../../support/worker/tenant.ts";

function storeOf({ id, content }: FreshTenant) {
  return openStore({ kept: id, content: remote(content, contentTables), bodies: env.BODIES });
}

function alarmOf(tenant: FreshTenant): Promise<number | null> {
  return inside(tenant, ({ storage }) => storage.getAlarm());
}

/** Too big for the authority to keep a copy of, so that only its deletion asks for an alarm. */
const BIG = new Uint8Array(300_000);

it("sets no alarm while nothing has to be done later", async () => {
  const tenant = contentSideOf(freshTenant());
  await storeOf(tenant).write({ uri: "note:a", name: "a", blob: BIG });
  expect(await alarmOf(tenant)).toBeNull();
});

it("wakes for the earliest of what it was asked for", async () => {
  const tenant = contentSideOf(freshTenant());
  const store = storeOf(tenant);
  await store.write({ uri: "note:a", name: "a", blob: BIG });
  await store.delete("note:a");
  const forGarbage = await alarmOf(tenant);
  await store.write({ uri: "note:b", name: "b", text: "small" });
  const [copy] = await rowsOf(tenant, "SELECT until FROM copies");
  expect(await alarmOf(tenant)).toBe(copy?.until);
  expect(await alarmOf(tenant)).toBeLessThan(forGarbage ?? 0);
});

it("does not put an alarm off after an eviction", async () => {
  const tenant = contentSideOf(freshTenant());
  const soon = Date.now() + 60_000;
  await inside(tenant, ({ storage }) => storage.setAlarm(soon));
  await evictDurableObject(tenant.object);
  await storeOf(tenant).write({ uri: "note:a", name: "a", text: "small" });
  expect(await alarmOf(tenant)).toBe(soon);
});

it("asks again for an alarm that was rolled back with the work that wanted it", async () => {
  const tenant = contentSideOf(freshTenant());
  const store = storeOf(tenant);
  await store.write({ uri: "note:a", name: "a", blob: BIG });
  const nameless = { ...(await rowsOf(tenant, "SELECT * FROM resources"))[0], name: null, hash: "other", tags: [] };
  const put = { row: nameless, searchText: "", copy: null, ifAbsent: false, resent: null };
  expect(String(await failureOf(tenant, "content", "put", [put]))).toContain("NOT NULL");
  // The old body is kept after all; the new one, which was uploaded before, is to be deleted.
  expect(await rowsOf(tenant, "SELECT hash FROM garbage")).toEqual([{ hash: "other" }]);
  expect(await alarmOf(tenant)).toBeGreaterThan(Date.now());
  await store.delete("note:a");
  expect(await alarmOf(tenant)).toBeGreaterThan(Date.now());
});

it("sets the next alarm after one, until nothing is left to do", async () => {
  const tenant = contentSideOf(freshTenant());
  const store = storeOf(tenant);
  await store.write({ uri: "note:a", name: "a", text: "small" });
  await store.delete("note:a");
  const due = async () => {
    for (const table of ["copies", "collected"]) {
      await inside(tenant, ({ storage }) => storage.sql.exec(`UPDATE ${table} SET until = 1`));
    }
  };
  await due();
  expect(await runDurableObjectAlarm(tenant.object)).toBe(true);
  const [garbage] = await rowsOf(tenant, "SELECT collect_at FROM garbage");
  expect(await alarmOf(tenant)).toBe(garbage?.collect_at);
  await inside(tenant, ({ storage }) => storage.sql.exec("UPDATE garbage SET collect_at = 1"));
  expect(await runDurableObjectAlarm(tenant.object)).toBe(true);
  await due();
  expect(await runDurableObjectAlarm(tenant.object)).toBe(true);
  expect(await alarmOf(tenant)).toBeNull();
  expect(await runDurableObjectAlarm(tenant.object)).toBe(false);
});

it("rings every domain though one fails, and that one again later", async () => {
  const logged = vi.spyOn(console, "error").mockImplementation(() => {});
  const rung: string[] = [];
  const domain = (name: string, fails: boolean): Tables => ({
    name,
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
    const object = new (createTenantObject<unknown>([domain("bad", true), domain("good", false)]))(state, env);
    const before = Date.now();
    await object.alarm?.();
    expect(rung).toEqual(["bad", "good"]);
    await vi.waitFor(async () => expect((await state.storage.getAlarm()) ?? 0).toBeGreaterThanOrEqual(before + 60_000));
  });
  expect(logged).toHaveBeenCalledOnce();
  logged.mockRestore();
});
