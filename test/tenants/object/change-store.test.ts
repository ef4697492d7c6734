import { evictDurableObject } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { createResourceStore } from "../../../src/resources/tenant-resource-store.ts";
import { contentStore } from "../../../src/resources/content-store.ts";
import { createChangeDomain } from "../../../src/tenants/object/change-store.ts";
import { createChangeClient, type ChangeMethods } from "../../../src/tenants/object/change-rpc.ts";
import { hubName, shardsOf, type Changes } from "../../../src/tenants/object/changes.ts";
import { policyStore } from "../../../src/tenants/object/policy-store.ts";
import { createRpcClient } from "../../../src/tenants/object/store.ts";
import { listenAt } from "../../support/workerd/hubs.ts";
import { freshTenant, withStore, type OpenedStore, NO_UID } from "../../support/workerd/tenant.ts";

const changes = (about: Partial<Changes>): Changes => ({
  version: 0,
  updated: [],
  listed: [],
  announced: [],
  policy: false,
  all: false,
  due: false,
  ...about,
});

function recorded(
  work: (store: OpenedStore<ChangeMethods>, log: ReturnType<typeof createChangeDomain>["log"]) => void,
) {
  const { store: tables, log } = createChangeDomain("definitions");
  return withStore(tables, (store) => {
    work(store, log);
  });
}

describe("the recorded changes", () => {
  it("is nothing since now, and all that came since a version", async () => {
    await recorded(({ methods }, log) => {
      expect(methods.listen(null)).toEqual(changes({}));
      log.updated("note:a", false);
      log.updated("note:b", true);
      log.announced(["prompts", "resources"]);
      expect(methods.listen(null)).toEqual(changes({ version: 5 }));
      expect(methods.listen(1)).toEqual(
        changes({ version: 5, updated: ["note:b"], listed: ["note:b"], announced: ["prompts", "resources"] }),
      );
      expect(methods.listen(4)).toEqual(changes({ version: 5, announced: ["resources"] }));
      expect(methods.listen(5)).toEqual(changes({ version: 5 }));
    });
  });

  it("name an item once that changed repeatedly, for every older version", async () => {
    await recorded(({ methods }, log) => {
      for (const name of ["a", "b", "a", "a"]) log.updated(`note:${name}`, false);
      expect(methods.listen(0)).toEqual(changes({ version: 4, updated: ["note:b", "note:a"] }));
      expect(methods.listen(3)).toEqual(changes({ version: 4, updated: ["note:a"] }));
    });
  });

  it("are unknown after a long absence, and the record does not grow for it", async () => {
    await recorded(({ methods, sql }, log) => {
      for (let at = 1; at <= 25_000; at += 1) log.updated(`note:${at}`, false);
      const { kept: count } = sql.exec<{ kept: number }>("SELECT count(*) AS kept FROM changes").one();
      expect(count).toBeGreaterThanOrEqual(10_000);
      expect(count).toBeLessThanOrEqual(11_000);
      expect(methods.listen(14_999)).toMatchObject({ version: 25_000, all: true });
      expect(methods.listen(15_000)).toMatchObject({ all: false, updated: { length: 10_000 } });
      expect(methods.listen(24_999)).toEqual(changes({ version: 25_000, updated: ["note:25000"] }));
    });
  });

  it("are complete without a limit if few items change often", async () => {
    await recorded(({ methods, sql }, log) => {
      for (let at = 1; at <= 12_000; at += 1) log.updated(`note:${at % 3}`, false);
      expect(sql.exec("SELECT 1 FROM changes").toArray()).toHaveLength(3);
      expect(methods.listen(0)).toEqual(changes({ version: 12_000, updated: ["note:1", "note:2", "note:0"] }));
    });
  });

  it("are unknown for a version that never existed", async () => {
    await recorded(({ methods }, log) => {
      log.updated("note:a", false);
      expect(methods.listen(7)).toEqual(changes({ version: 1, all: true }));
    });
  });
});

describe("a tenant's object", () => {
  it("sends its hub writes, announcements of tools and withdrawals", async () => {
    const tenant = freshTenant();
    const listener = await listenAt(tenant.id);
    const methods = createChangeClient(tenant.stub);
    expect(await methods.listen(null)).toEqual(changes({}));
    await createChangeClient(tenant.content).listen(null);
    const store = createResourceStore({
      storageKey: tenant.id,
      content: createRpcClient(tenant.content, contentStore),
      bodies: env.BODIES,
    });
    await store.write({ uri: "note:a", name: "a", text: "one" });
    expect(await listener.next()).toMatchObject({ version: 2, updated: ["note:a"], listed: ["note:a"] });
    await store.write({ uri: "note:a", name: "a", text: "two" });
    expect(await listener.next()).toMatchObject({ after: 2, updated: ["note:a"], listed: [] });
    await createChangeClient(tenant.content).announce(["tools"], ["note:code"]);
    expect(await listener.next()).toMatchObject({ updated: ["note:code"], announced: ["tools"] });
    const actor = { name: "ann" };
    const policy = createRpcClient(tenant.stub, policyStore);
    await policy.create({ created: NO_UID, own: {}, effective: {}, actor, action: "create" });
    await policy.suspend({ kind: "tenant", name: "", note: "n" }, actor);
    expect(await listener.ended).toBe(4001);
  });

  it("keeps its version and its listeners after an eviction", async () => {
    const tenant = freshTenant();
    const listener = await listenAt(tenant.id);
    await createChangeClient(tenant.stub).listen(null);
    await createChangeClient(tenant.stub).announce(["tools"], []);
    expect(await listener.next()).toMatchObject({ version: 1 });
    await createChangeClient(tenant.stub).flush();
    await evictDurableObject(tenant.object);
    await createChangeClient(tenant.stub).announce(["tools"], []);
    expect(await listener.next()).toMatchObject({ version: 2, after: 1 });
  });

  it("does not report all streams as notified while a reset hub expects some back", async () => {
    const tenant = freshTenant();
    await listenAt(tenant.id);
    const log = createChangeClient(tenant.stub);
    await log.listen(null);
    expect(await log.pendingCloseMs()).toBe(0);
    await evictDurableObject(exports.HubObject.getByName(tenant.id), { webSockets: "close" });
    expect(await log.pendingCloseMs()).toBeGreaterThan(0);
  });
});

describe("a tenant's hubs", () => {
  it.each<[string | undefined, number]>([
    [undefined, 1],
    ["4", 4],
    ["64", 64],
    ["65", 1],
    ["0", 1],
    ["many", 1],
  ])("are as many as HUB_SHARDS says: %s", (text, shards) => {
    const about = text === undefined ? {} : { HUB_SHARDS: text };
    expect(shardsOf(about)).toBe(shards);
  });

  it("have names that no other tenant has", () => {
    expect([0, 1, 2].map((shard) => hubName("acme", shard))).toEqual(["acme", "acme#1", "acme#2"]);
  });
});
