// Bodies in KV that no row names any more: deleted by alarm after the grace, and never one that is in use,
// whatever is written while the deletion runs.

import { countWrites } from "../../src/tenants/object/count-writes.ts";
import { evictDurableObject, runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { createResourceStore } from "../../src/resources/tenant-resource-store.ts";
import { COPY_LIFETIME_MS } from "../../src/resources/garbage.ts";
import { GARBAGE_GRACE_MS } from "../../src/tenants/object/body-garbage.ts";
import { bodyKey } from "../../src/resources/resource-row.ts";
import { contentStore } from "../../src/resources/content-store.ts";
import { createRpcClient } from "../../src/tenants/object/store.ts";
import { putOf } from "./stored-resources.ts";
import {
  contentSideOf,
  freshTenant,
  inside,
  NO_CHANGES,
  withStore,
  rowsOf,
  type OpenedStore,
  type FreshTenant,
  NO_CLOSURE,
} from "../support/workerd/tenant.ts";

type ContentBench = OpenedStore<ReturnType<typeof contentStore.open>["methods"]>;

const MINUTE = 60_000;

/** A KV whose deletions are only written down; `during` runs while one is under way. */
function deletions(during: (key: string) => void = () => {}) {
  const keys: string[] = [];
  return {
    keys,
    delete: async (key: string) => {
      await Promise.resolve();
      during(key);
      keys.push(key);
    },
  };
}

/** Stores and removes the bodies, then lets the grace pass. */
function makeGarbage({ methods, clock }: ContentBench, ...hashes: string[]): void {
  for (const hash of hashes) {
    methods.put(putOf(`note:${hash}`, { hash }));
    methods.remove(`note:${hash}`);
  }
  clock.now += GARBAGE_GRACE_MS + MINUTE;
}

function hashesIn(sql: SqlStorage, table: "body_garbage" | "body_deletions" | "body_copies"): unknown[] {
  return sql
    .exec(`SELECT hash FROM ${table} ORDER BY hash`)
    .toArray()
    .map(({ hash }) => hash);
}

describe("the alarm", () => {
  it("leaves a body alone during the grace and deletes it after", async () => {
    const bodies = deletions();
    const tenant = freshTenant();
    await withStore(
      contentStore,
      async ({ methods, open, clock, alarms: wakes }) => {
        methods.put(putOf("note:a", { hash: "a" }));
        methods.remove("note:a");
        const [wake = 0] = wakes;
        expect(wake).toBeGreaterThanOrEqual(clock.now + GARBAGE_GRACE_MS);
        expect(wake).toBeLessThanOrEqual(clock.now + GARBAGE_GRACE_MS + MINUTE);
        clock.now = wake - 1;
        expect(await open.alarm?.(clock.now)).toBe(wake);
        expect(bodies.keys).toEqual([]);
        await open.alarm?.(wake);
        expect(bodies.keys).toEqual([bodyKey(tenant.id, "a")]);
      },
      { bodies, tenant },
    );
  });

  it("keeps a body that another resource still has", async () => {
    const bodies = deletions();
    await withStore(
      contentStore,
      async ({ methods, open, clock, sql }) => {
        methods.put(putOf("note:a", { hash: "shared" }));
        methods.put(putOf("note:b", { hash: "shared" }));
        methods.remove("note:a");
        methods.put(putOf("note:b", { hash: "shared", name: "renamed" }));
        clock.now += 2 * GARBAGE_GRACE_MS;
        await open.alarm?.(clock.now);
        expect(bodies.keys).toEqual([]);
        methods.remove("note:b");
        expect(hashesIn(sql, "body_garbage")).toEqual(["shared"]);
      },
      { bodies },
    );
  });

  it("keeps a body that came back into use during the grace", async () => {
    const bodies = deletions();
    await withStore(
      contentStore,
      async ({ methods, open, clock }) => {
        methods.put(putOf("note:a", { hash: "one" }));
        methods.put(putOf("note:a", { hash: "two" }));
        expect(methods.put(putOf("note:a", { hash: "one" })).state).toBe("stored");
        clock.now += 2 * GARBAGE_GRACE_MS;
        await open.alarm?.(clock.now);
        expect(bodies.keys.map((key) => key.split("/").at(-1))).toEqual(["two"]);
      },
      { bodies },
    );
  });

  it("keeps a body that is taken into use while the one before it is deleted", async () => {
    await withStore(contentStore, async (bench) => {
      const bodies = deletions((key) => {
        if (key.endsWith("/first"))
          expect(bench.methods.put(putOf("note:back", { hash: "second" })).state).toBe("stored");
      });
      makeGarbage(bench, "first", "second");
      const open = contentStore.open(requestScopeOf(bench, bodies));
      await open.alarm?.(bench.clock.now);
      expect(bodies.keys.map((key) => key.split("/").at(-1))).toEqual(["first"]);
      expect(hashesIn(bench.sql, "body_garbage")).toEqual([]);
      expect(bench.methods.get("note:back")?.hash).toBe("second");
    });
  });

  it("deletes some at a time and comes back at once for the rest", async () => {
    const bodies = deletions();
    await withStore(
      contentStore,
      async (bench) => {
        const hashes = Array.from({ length: 450 }, (_, at) => String(at));
        makeGarbage(bench, ...hashes);
        const runs: number[] = [];
        for (let next: number | undefined = 0; next !== undefined && next <= bench.clock.now;) {
          next = await bench.open.alarm?.(bench.clock.now);
          runs.push(bodies.keys.length);
        }
        expect(runs).toEqual([200, 400, 450]);
        expect(new Set(bodies.keys).size).toBe(450);
      },
      { bodies },
    );
  });

  it("waits a minute when KV fails, and forgets nothing", async () => {
    let down = true;
    const deleted: string[] = [];
    const bodies = {
      delete: async (key: string) => {
        if (down) throw new Error("KV is down");
        deleted.push(key);
      },
    };
    await withStore(
      contentStore,
      async (bench) => {
        makeGarbage(bench, "a", "b");
        expect(await bench.open.alarm?.(bench.clock.now)).toBe(bench.clock.now + MINUTE);
        expect(hashesIn(bench.sql, "body_garbage")).toEqual(["a", "b"]);
        down = false;
        await bench.open.alarm?.(bench.clock.now + MINUTE);
        expect(deleted).toHaveLength(2);
        expect(hashesIn(bench.sql, "body_garbage")).toEqual([]);
      },
      { bodies },
    );
  });

  it("forgets copies and deletions when their time is over, and then wants no further alarm", async () => {
    await withStore(
      contentStore,
      async (bench) => {
        const { methods, open, clock, sql } = bench;
        methods.put(putOf("note:a", { hash: "a" }, { copy: new ArrayBuffer(3) }));
        expect(methods.readCopy("a")?.byteLength).toBe(3);
        clock.now += COPY_LIFETIME_MS + MINUTE;
        await open.alarm?.(clock.now);
        expect(methods.readCopy("a")).toBeUndefined();
        methods.remove("note:a");
        clock.now += GARBAGE_GRACE_MS + MINUTE;
        const next = await open.alarm?.(clock.now);
        expect(hashesIn(sql, "body_deletions")).toEqual(["a"]);
        expect(await open.alarm?.(next ?? 0)).toBeUndefined();
        expect(hashesIn(sql, "body_deletions")).toEqual([]);
      },
      { bodies: deletions() },
    );
  });

  it("is shared by the writes of a minute", async () => {
    await withStore(contentStore, ({ methods, clock, alarms: wakes }) => {
      clock.now = Math.floor(clock.now / MINUTE) * MINUTE + 1;
      for (let write = 0; write < 59; write += 1) {
        methods.put(putOf(`note:${write}`, {}, { copy: new ArrayBuffer(1) }));
        clock.now += 1000;
      }
      expect(new Set(wakes).size).toBe(1);
    });
  });
});

describe("a write of a body that was collected", () => {
  it("is told to send it again, until it was sent after the deletion", async () => {
    await withStore(
      contentStore,
      async (bench) => {
        makeGarbage(bench, "a");
        await bench.open.alarm?.(bench.clock.now);
        const { methods } = bench;
        const first = methods.put(putOf("note:new", { hash: "a" }));
        if (first.state !== "resend") throw new Error(`unexpected ${first.state}`);
        expect(methods.get("note:new")).toBeUndefined();
        // A second writer, who also uploaded before the deletion, gains nothing from the first one's question.
        expect(methods.put(putOf("note:other", { hash: "a" })).state).toBe("resend");
        expect(methods.put(putOf("note:new", { hash: "a" }, { resendToken: first.resendToken })).state).toBe("stored");
        expect(methods.put(putOf("note:other", { hash: "a" })).state).toBe("stored");
      },
      { bodies: deletions() },
    );
  });

  it("is not believed while the deletion is still under way", async () => {
    await withStore(contentStore, async (bench) => {
      const answers: string[] = [];
      const bodies = deletions(() => {
        const first = bench.methods.put(putOf("note:new", { hash: "a" }));
        answers.push(first.state);
        const resent = first.state === "resend" ? first.resendToken : null;
        answers.push(bench.methods.put(putOf("note:new", { hash: "a" }, { resendToken: resent })).state);
      });
      makeGarbage(bench, "a");
      const open = contentStore.open(requestScopeOf(bench, bodies));
      await open.alarm?.(bench.clock.now);
      expect(answers).toEqual(["resend", "resend"]);
      expect(bench.methods.get("note:new")).toBeUndefined();
    });
  });
});

it("a body that a refused write had uploaded is collected", async () => {
  await withStore(contentStore, ({ methods, sql }) => {
    methods.put(putOf("note:a", { hash: "in use" }));
    expect(methods.put(putOf("note:a", { hash: "for nothing" }, { ifAbsent: true })).state).toBe("present");
    expect(methods.put(putOf("note:a", { hash: "in use" }, { ifAbsent: true })).state).toBe("present");
    expect(hashesIn(sql, "body_garbage")).toEqual(["for nothing"]);
  });
});

describe("with KV and the object as they are", () => {
  const keysOf = async ({ id }: FreshTenant) =>
    (await env.BODIES.list({ prefix: bodyKey(id, "") })).keys.map(({ name }) => name);

  function graceIsOver(tenant: FreshTenant) {
    return inside(tenant, ({ storage }) => storage.sql.exec("UPDATE body_garbage SET delete_at = 1"));
  }

  it("deletes only unreferenced bodies, with an eviction before every step", async () => {
    const tenant = contentSideOf(freshTenant());
    const store = createResourceStore({
      storageKey: tenant.id,
      content: createRpcClient(tenant.content, contentStore),
      bodies: env.BODIES,
    });
    const steps = [
      () => store.write({ uri: "note:keep", name: "k", text: "kept" }),
      () => store.write({ uri: "note:same", name: "s", text: "gone" }),
      () => store.write({ uri: "note:go", name: "g", text: "gone" }),
      () => store.write({ uri: "note:go", name: "g", text: "newer" }),
      () => store.delete("note:same"),
      () => graceIsOver(tenant),
      () => runDurableObjectAlarm(tenant.object),
    ];
    await tenant.stub.call("content.get", ["note:keep"], true);
    for (const step of steps) {
      await evictDurableObject(tenant.object);
      await step();
    }
    expect(await keysOf(tenant)).toHaveLength(2);
    expect((await store.read("note:keep"))?.text).toBe("kept");
    expect((await store.read("note:go"))?.text).toBe("newer");
    expect(await rowsOf(tenant, "SELECT hash FROM body_garbage")).toEqual([]);
  });

  it("stores a collected body again under the same key", async () => {
    const tenant = contentSideOf(freshTenant());
    const store = createResourceStore({
      storageKey: tenant.id,
      content: createRpcClient(tenant.content, contentStore),
      bodies: env.BODIES,
    });
    await store.write({ uri: "note:a", name: "a", text: "back and forth" });
    const [key] = await keysOf(tenant);
    await store.delete("note:a");
    await graceIsOver(tenant);
    await runDurableObjectAlarm(tenant.object);
    expect(await keysOf(tenant)).toEqual([]);
    await store.write({ uri: "note:b", name: "b", text: "back and forth" });
    expect(await keysOf(tenant)).toEqual([key]);
    expect((await store.read("note:b"))?.text).toBe("back and forth");
  });

  it("never touches another tenant's body of the same content", async () => {
    const [one, two] = [freshTenant(), freshTenant()].map(contentSideOf) as [FreshTenant, FreshTenant];
    const storeOf = ({ id, content }: FreshTenant) =>
      createResourceStore({ storageKey: id, content: createRpcClient(content, contentStore), bodies: env.BODIES });
    for (const tenant of [one, two]) await storeOf(tenant).write({ uri: "note:a", name: "a", text: "same" });
    await storeOf(one).delete("note:a");
    await graceIsOver(one);
    await runDurableObjectAlarm(one.object);
    expect([await keysOf(one), (await keysOf(two)).length]).toEqual([[], 1]);
  });
});

function requestScopeOf({ sql, clock }: ContentBench, bodies: Pick<KVNamespace, "delete">) {
  return {
    ...countWrites(sql),
    env: { BODIES: bodies },
    tenant: "bench",
    storageKey: () => "bench",
    jurisdiction: null,
    now: () => clock.now,
    transaction: <T>(step: () => T) => step(),
    scheduleAlarm: () => {},
    changes: NO_CHANGES,
    deletion: NO_CLOSURE,
    erase: async () => {},
    hasCapacity: () => true,
  };
}
