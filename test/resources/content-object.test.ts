// The object that keeps a tenant's content: for whom it answers, that nobody waits for it who need not, and that an edit
// reaches the audit log whatever fails on the way.

import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { exports } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { contentStore } from "../../src/resources/content-store.ts";
import { editLogStore } from "../../src/resources/edit-log-store.ts";
import { MAX_QUEUED_EDITS } from "../../src/resources/edit.ts";
import { editOutboxStore } from "../../src/resources/edit-outbox.ts";
import { storageKey, createTenantUid, type TenantUid } from "../../src/tenants/object/tenant-uid.ts";
import { policyStore } from "../../src/tenants/object/policy-store.ts";
import { createRpcClient } from "../../src/tenants/object/store.ts";
import { putOf } from "./stored-resources.ts";
import { anyTenant, contentStub, freshTenant, type FreshTenant } from "../support/workerd/tenant.ts";
import { aroundCalls } from "../support/workerd/object-calls.ts";

const ANN = { name: "ann" };
const LEASE = { version: null, maxStalenessMs: 1000, inCode: false, keyHash: null };

/** A tenant that is made now, as the directory enters it. */
async function born({ id, stub }: FreshTenant = freshTenant()) {
  const created = createTenantUid(Date.now());
  const policy = createRpcClient(stub, policyStore);
  await policy.create({ created, own: {}, effective: {}, actor: ANN, action: "create" });
  const content = createRpcClient(contentStub(id, created), contentStore);
  return { id, created, policy, content, object: exports.ContentObject.getByName(storageKey(id, created)) };
}

const refusal = (key: string) => expect.objectContaining({ key }) as Error;
const editOf = (uri: string, ifAbsent = false) => putOf(uri, {}, { edit: { actor: "ann", ifMatch: null, ifAbsent } });

describe("for whom it answers", () => {
  it("is the tenant that was made then: before it, after it and beside it nothing is stored", async () => {
    const tenant = freshTenant();
    const early = createTenantUid(Date.now());
    const store = (created: TenantUid) =>
      createRpcClient(contentStub(tenant.id, created), contentStore).put(putOf("note:a"));
    await expect(store(early)).rejects.toThrow(refusal("unknownTenant"));
    const one = await born(tenant);
    await one.content.put(putOf("note:a"));
    await expect(store(early)).rejects.toThrow(refusal("unknownTenant"));
    await one.policy.close(one.created);
    await one.content.closeContent(one.created);
    await expect(store(one.created)).rejects.toThrow(refusal("unknownTenant"));
    await one.content.erase();
    await one.policy.erase();
    const two = await born(tenant);
    await expect(store(one.created)).rejects.toThrow(refusal("unknownTenant"));
    expect(await two.content.usage()).toEqual({ resources: 0, bytes: 0 });
  });

  it("is one that nobody had heard of a moment ago", async () => {
    const tenant = freshTenant();
    const created = createTenantUid(Date.now());
    const content = createRpcClient(contentStub(tenant.id, created), contentStore);
    await expect(content.usage()).rejects.toThrow(refusal("unknownTenant"));
    const policy = createRpcClient(tenant.stub, policyStore);
    await policy.create({ created, own: {}, effective: {}, actor: ANN, action: "create" });
    expect(await content.usage()).toEqual({ resources: 0, bytes: 0 });
  });
});

describe("the authority", () => {
  it("is asked once for all that is read, listed, searched and written, and after an eviction not again", async () => {
    const tenant = freshTenant();
    const calls: string[] = [];
    await aroundCalls(tenant.object, (method, call) => {
      if (!method.startsWith("policy.")) calls.push(method);
      return call();
    });
    const { content, object } = await born(tenant);
    for (const uri of ["note:a", "note:b"]) await content.put(putOf(uri, {}, { searchText: "apple" }));
    await evictDurableObject(object);
    expect(await content.search({ match: "apple", prefix: "", limit: 5 })).toHaveLength(2);
    await content.list({ prefix: "", tag: null, after: null, limit: 5 });
    await content.get("note:a");
    await content.remove("note:a");
    expect(calls).toEqual(["authority.exists"]);
  });

  it("grants leases and withdraws rights while the content can do nothing else", async () => {
    const { content, policy, object } = await born();
    await content.put(putOf("note:a", {}, { searchText: "apple" }));
    const world = { isBusy: false, mayGoOn: false };
    const busy = runInDurableObject(object, (_instance, state) =>
      state.blockConcurrencyWhile(async () => {
        world.isBusy = true;
        while (!world.mayGoOn) await scheduler.wait(5);
      }),
    );
    await expect.poll(() => world.isBusy).toBe(true);
    let isFound = false;
    const found = content.search({ match: "apple", prefix: "", limit: 5 }).then((rows) => {
      isFound = true;
      return rows;
    });
    expect(await policy.lease(LEASE)).toMatchObject({ state: "granted" });
    expect(await policy.suspend({ kind: "tenant", name: "", note: "n" }, ANN)).toMatchObject({ state: "written" });
    expect(isFound).toBe(false);
    world.mayGoOn = true;
    expect(await found).toHaveLength(1);
    await busy;
  });
});

describe("an operator's edit", () => {
  const audited = async (policy: Awaited<ReturnType<typeof born>>["policy"]) =>
    (await policy.audit({ before: null, limit: 100 })).map(({ actor, action, target }) => [actor, action, target]);

  it("is answered before its entry is in the log, and has it there once, in order and with its own time", async () => {
    const { id, created, content, policy, object } = await born();
    const before = Date.now();
    await content.put(editOf("note:a"));
    await content.put(editOf("note:b"));
    await content.removeAs("note:a", { actor: "bob", ifMatch: null });
    const after = Date.now();
    expect(await audited(policy)).toEqual([["ann", "create", "tenant"]]);
    expect(await runDurableObjectAlarm(object)).toBe(true);
    const outbox = createRpcClient(contentStub(id, created), editOutboxStore);
    await Promise.all([outbox.deliver(), outbox.deliver()]);
    expect(await audited(policy)).toEqual([
      ["bob", "resource.delete", "resource note:a"],
      ["ann", "resource.create", "resource note:b"],
      ["ann", "resource.create", "resource note:a"],
      ["ann", "create", "tenant"],
    ]);
    const [{ at } = { at: "" }] = await policy.audit({ before: null, limit: 1 });
    expect(Date.parse(at)).toBeGreaterThanOrEqual(before);
    expect(Date.parse(at)).toBeLessThanOrEqual(after);
  });

  it("is refused while a thousand wait for an authority that is away, and goes on when that is back", async () => {
    const { id, created, content, object } = await born();
    await content.put(editOf("note:a"));
    await runInDurableObject(object, (_instance, { storage: { sql } }) => {
      const filled = "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < ?)";
      const entry =
        "SELECT '2026-11-22T10:00:00.000Z', 'ann', 'resource.update', 'resource note:a', 'null', 'null' FROM n";
      sql.exec(
        `INSERT INTO edit_outbox (at, actor, action, target, before, after) ${filled} ${entry}`,
        MAX_QUEUED_EDITS,
      );
    });
    await expect(content.put(editOf("note:b"))).rejects.toThrow(refusal("busy"));
    const same = { ...editOf("note:b"), row: { ...editOf("note:b").row, hash: "hash of note:a" } };
    await expect(content.put(same)).rejects.toThrow(refusal("busy"));
    // Its body, which was uploaded before, is not left in KV; one that a row names stays.
    const garbage = await runInDurableObject(object, (_instance, { storage }) =>
      storage.sql.exec("SELECT hash FROM body_garbage").toArray(),
    );
    expect(garbage).toEqual([{ hash: "hash of note:b" }]);
    await expect(content.removeAs("note:a", { actor: "ann", ifMatch: null })).rejects.toThrow(refusal("busy"));
    expect(await content.usage()).toMatchObject({ resources: 1 });
    await content.put(putOf("note:c"));
    await createRpcClient(contentStub(id, created), editOutboxStore).deliver();
    expect(await content.put(editOf("note:b"))).toMatchObject({ state: "stored" });
  });

  it("is in the log once, though the answer of the authority was lost", async () => {
    const { id, created, content, policy, object } = await born();
    await content.put(editOf("note:a"));
    const entries = await runInDurableObject(object, (_instance, { storage }) =>
      storage.sql.exec("SELECT * FROM edit_outbox").toArray(),
    );
    const recorder = createRpcClient(anyTenant(id), editLogStore);
    await recorder.record(entries as never);
    await createRpcClient(contentStub(id, created), editOutboxStore).deliver();
    expect(await audited(policy)).toHaveLength(2);
  });
});
