// Content that an earlier release kept in the tenant's authority: it moves at first use, whole, whatever fails on the way.

import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { takeOverBy } from "../../../src/content/store/admission.ts";
import { Takeover } from "../../../src/content/store/takeover.ts";
import { operatedContent } from "../../../src/content/store/operated-content.ts";
import { digestOf, openStore } from "../../../src/content/store/open-store.ts";
import { bodyKey } from "../../../src/content/store/resource-row.ts";
import { remoteChanges } from "../../../src/tenants/authority/change-tables.ts";
import { policyTables } from "../../../src/tenants/authority/policy-tables.ts";
import { remote } from "../../../src/tenants/authority/tables.ts";
import { mayPass } from "../../../src/tenants/isolate/outage.ts";
import { putOf } from "../../support/worker/resources.ts";
import { operatedEarlierContent } from "../../../src/content/store/operated-earlier-content.ts";
import {
  contentSideOf,
  contentStub,
  MADE_BEFORE,
  failureOf,
  freshTenant,
  inside,
  onBench,
  type FreshTenant,
} from "../../support/worker/tenant.ts";

const uriOf = (at: number) => `note:${String(at).padStart(4, "0")}`;
const textOf = (at: number) => `text of ${at} word${at}`;

/** A tenant with this many resources, as release 0.1.0 left it. */
async function earlier(count: number): Promise<FreshTenant> {
  const tenant = freshTenant();
  const actor = { name: "ann" };
  await remote(tenant.stub, policyTables).create({
    created: MADE_BEFORE,
    own: {},
    effective: {},
    actor,
    action: "create",
  });
  const puts = await Promise.all(
    Array.from({ length: count }, async (_none, at) => {
      const bytes = new TextEncoder().encode(textOf(at));
      const hash = await digestOf(bytes);
      await env.BODIES.put(bodyKey(tenant.id, hash), bytes);
      return putOf(uriOf(at), { hash, size: bytes.byteLength, tags: [`tag${at % 3}`] }, { searchText: textOf(at) });
    }),
  );
  await onBench(
    operatedContent,
    ({ methods, sql }) => {
      for (const put of puts) methods.put(put);
      methods.put(putOf("note:gone", { hash: "gone" }));
      methods.remove("note:gone");
      sql.exec("UPDATE garbage SET collect_at = ?", Date.now() + 3_600_000);
      for (const table of ["texts_due", "texts_unplaced", "resource_words", "edits"]) sql.exec(`DROP TABLE ${table}`);
      for (const table of ["resources", "resource_tags"]) sql.exec(`DELETE FROM ${table} WHERE uri = x'FF'`);
      sql.exec("UPDATE schema_versions SET version = 8 WHERE name = 'content'");
      const change = "INSERT INTO changes (kind, name, version) VALUES (?, ?, ?)";
      for (let at = 0; at < count; at += 1) sql.exec(change, "updated", uriOf(at), at + 1);
      sql.exec(change, "policy", "", count + 1);
    },
    { tenant },
  );
  return tenant;
}

const contentOf = ({ content }: FreshTenant) => remote(content, operatedContent);

/** Everything that a client can learn of the content. */
async function seen(tenant: FreshTenant): Promise<object> {
  const content = contentOf(tenant);
  const rows = await content.list({ prefix: "", tag: null, after: null, limit: 1000 });
  const found = await content.search({ match: "text", prefix: "", limit: 1000 });
  const changes = await remoteChanges(tenant.content).listen(1);
  return {
    rows,
    found: found.map(({ uri }) => uri).toSorted(),
    one: (await content.search({ match: "word1", prefix: "", limit: 5 })).map(({ uri }) => uri),
    tagged: (await content.list({ prefix: "", tag: "tag1", after: null, limit: 1000 })).map(({ uri }) => uri),
    tags: await content.tags(""),
    usage: await content.usage(),
    changes,
    garbage: await inside(contentSideOf(tenant), ({ storage }) =>
      storage.sql.exec("SELECT hash FROM garbage").toArray(),
    ),
  };
}

function leftOf(tenant: FreshTenant): Promise<unknown[]> {
  const tables = "'resources', 'resource_tags', 'resource_text', 'copies', 'garbage', 'collected'";
  return inside(tenant, ({ storage: { sql } }) => [
    ...sql.exec(`SELECT name FROM sqlite_master WHERE name IN (${tables})`).toArray(),
    ...sql.exec("SELECT kind, version FROM changes").toArray(),
    ...sql.exec("SELECT * FROM schema_versions WHERE name = 'content'").toArray(),
  ]);
}

async function untilMoved(tenant: FreshTenant): Promise<void> {
  const phase = () =>
    inside(contentSideOf(tenant), ({ storage }) => storage.sql.exec("SELECT phase FROM takeover").toArray()[0]?.phase);
  while ((await phase()) !== "done") await runDurableObjectAlarm(tenant.contentObject);
}

const COUNT = 12;

/** The object of the content cannot reach KV. */
async function withoutBodies({ contentObject }: FreshTenant): Promise<{ back: () => void }> {
  let back = () => {};
  await runInDurableObject(contentObject, (instance: object) => {
    const { BODIES } = (instance as { env: { BODIES: KVNamespace } }).env;
    const away = { configurable: true, value: () => Promise.reject(new Error("KV is away")) };
    Object.defineProperty(BODIES, "get", away);
    back = () => Reflect.deleteProperty(BODIES, "get");
  });
  onTestFinished(() => {
    back();
  });
  return { back };
}

type Run = (this: object, ...call: unknown[]) => Promise<unknown>;

/** The authority fails at the call with this number among those of a move: before it does anything, or after it did. */
async function failing({ object }: FreshTenant, number: number, when: "before" | "after"): Promise<() => number> {
  let calls = 0;
  await runInDurableObject(object, (instance: object) => {
    const shared = Object.getPrototypeOf(instance) as { run: Run };
    const { run } = shared;
    shared.run = async function (this: object, ...call) {
      if (this !== instance || !["earlier-content", "earlier-pages"].includes(String(call[0])))
        return run.apply(this, call);
      calls += 1;
      const fails = calls === number;
      if (fails && when === "before") throw new Error("Network connection lost.");
      const ran = await run.apply(this, call);
      if (fails) throw new Error("Network connection lost.");
      return ran;
    };
  });
  return () => calls;
}

describe("content of an earlier release", () => {
  it("is all there at first use, and gone from where it was", async () => {
    const tenant = await earlier(250);
    const content = contentOf(tenant);
    const store = openStore({ kept: tenant.id, content, bodies: env.BODIES });
    expect((await store.read(uriOf(7)))?.text).toBe(textOf(7));
    expect(await seen(tenant)).toMatchObject({
      rows: { length: 250 },
      found: { length: 250 },
      one: [uriOf(1)],
      tagged: { length: 83 },
      usage: { resources: 250 },
      changes: { version: 251, updated: { length: 249 }, policy: false, all: false },
      garbage: [{ hash: "gone" }],
    });
    await untilMoved(tenant);
    expect(await leftOf(tenant)).toEqual([{ kind: "policy", version: 251 }]);
    expect(await remoteChanges(tenant.stub).listen(251)).toMatchObject({ version: 251, all: false });
  }, 120_000);

  it.each(["before", "after"] as const)(
    "is all there though each step fails once, %s the authority did its part, and the object is gone then",
    async (when) => {
      const whole = await earlier(COUNT);
      const calls = await failing(whole, 0, when);
      const expected = await seen(whole);
      await untilMoved(whole);
      // One for each page and each deletion: all of them were tried below.
      const steps = calls();
      expect(steps).toBeGreaterThan(10);
      for (let step = 1; step <= steps; step += 1) {
        const tenant = await earlier(COUNT);
        await failing(tenant, step, when);
        await contentOf(tenant)
          .usage()
          .catch((error: unknown) => {
            expect(error).toMatchObject({ key: "busy" });
          });
        await evictDurableObject(tenant.contentObject);
        await seen(tenant).catch(() => evictDurableObject(tenant.contentObject));
        expect(await seen(tenant)).toEqual(expected);
        // An alarm that failed is rung again; here, by hand.
        await untilMoved(tenant);
        expect(await seen(tenant)).toEqual(expected);
        expect(await leftOf(tenant)).toEqual([{ kind: "policy", version: COUNT + 1 }]);
      }
    },
    60_000,
  );

  it("is read, listed and written while its texts are still on their way, and only a search has to wait", async () => {
    const tenant = await earlier(COUNT);
    const content = contentOf(tenant);
    const { back } = await withoutBodies(tenant);
    expect(await content.usage()).toMatchObject({ resources: COUNT });
    await expect(content.search({ match: "text", prefix: "", limit: 5 })).rejects.toMatchObject({ key: "busy" });
    // The last row is written anew, and its number in the index taken again.
    await content.put(putOf(uriOf(COUNT - 1), { hash: "new" }, { searchText: "rewritten" }));
    await content.remove(uriOf(0));
    back();
    const uris = async (match: string) =>
      (await content.search({ match, prefix: "", limit: 100 })).map(({ uri }) => uri).toSorted();
    expect(await uris("text")).toEqual(Array.from({ length: COUNT - 2 }, (_none, at) => uriOf(at + 1)));
    expect(await uris("rewritten")).toEqual([uriOf(COUNT - 1)]);
  });

  it("goes on by itself, without anybody who asks", async () => {
    const tenant = await earlier(COUNT);
    await contentOf(tenant).usage();
    await evictDurableObject(tenant.contentObject);
    await expect.poll(() => leftOf(tenant), { timeout: 10_000 }).toHaveLength(1);
  });

  it.each([
    ["", async () => {}],
    [
      ", though some of it was moved before",
      async (tenant: FreshTenant) => {
        await failing(tenant, 3, "before");
        await expect(contentOf(tenant).usage()).rejects.toMatchObject({ key: "busy" });
        await evictDurableObject(tenant.contentObject);
      },
    ],
  ] as const)("is refused by a Worker without earlierContent(), and all there with it%s", async (_title, touch) => {
    const tenant = await earlier(COUNT);
    await touch(tenant);
    const before = await leftOf(tenant);
    takeOverBy(undefined);
    onTestFinished(() => takeOverBy((admission) => new Takeover(admission)));
    const log = vi.spyOn(console, "error").mockReturnValue();
    onTestFinished(() => log.mockRestore());
    const content = { ...contentSideOf(tenant), meant: MADE_BEFORE };
    for (const put of [putOf("note:new"), putOf(uriOf(1))]) {
      const failure = await failureOf(content, "content", "put", [put]);
      expect(mayPass(failure)).toBe(true);
      expect(String(failure)).toContain("needs the feature earlierContent()");
    }
    expect(log.mock.calls.flat().join(" ")).toContain("needs the feature earlierContent()");
    expect(log).toHaveBeenCalledOnce();
    expect(await leftOf(tenant)).toEqual(before);
    takeOverBy((admission) => new Takeover(admission));
    await evictDurableObject(tenant.contentObject);
    expect(await seen(tenant)).toMatchObject({ rows: { length: COUNT }, found: { length: COUNT } });
    await untilMoved(tenant);
  });

  it("ends with its tenant, moved or not", async () => {
    for (const touch of [async () => {}, (tenant: FreshTenant) => contentOf(tenant).usage()]) {
      const tenant = await earlier(COUNT);
      await touch(tenant);
      await remote(tenant.stub, policyTables).close(MADE_BEFORE);
      const content = remote(contentStub(tenant.id, MADE_BEFORE), operatedContent);
      await content.close(MADE_BEFORE);
      const earlierRows = remote(tenant.stub, operatedEarlierContent);
      while (!(await earlierRows.purge(7)).done);
      while (!(await content.purge(7)).done);
      await content.erase();
      expect((await env.BODIES.list({ prefix: bodyKey(tenant.id, "") })).keys).toEqual([]);
      await expect(content.usage()).rejects.toMatchObject({ key: "unknownTenant" });
    }
  });
});
