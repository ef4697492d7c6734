import { exports } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { DEFAULT_PLACEMENT } from "../../../src/tenants/directory/placement.ts";
import type { TenantDocument } from "../../../src/tenants/document/tenant-document.ts";
import { policyStore } from "../../../src/tenants/object/policy-store.ts";
import { sectionStore } from "../../../src/tenants/object/section-store.ts";
import {
  requestLease,
  DEFAULT_MAX_STALENESS_MS,
  evictPolicy,
  peekPolicy,
  getFreshPolicy,
  type CachedPolicy,
  type PolicyRequest,
} from "../../../src/tenants/cache/policy-cache.ts";
import { createRpcClient } from "../../../src/tenants/object/store.ts";
import type { TenantStub } from "../../../src/tenants/object/tenant-uid.ts";
import { freshTenant, type FreshTenant } from "../../support/workerd/tenant.ts";

const ANN = { name: "ann" };
const NOW = Date.UTC(2026, 10, 21, 12);
const ASK: PolicyRequest = { maxStalenessMs: 1000, inCode: false, placement: DEFAULT_PLACEMENT, key: null };
const KEY = { cacheKey: "token of k1", hash: "hash of k1" };

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: NOW });
});
afterEach(() => {
  vi.useRealTimers();
});

const policyOf = ({ stub }: FreshTenant) => createRpcClient(stub, policyStore);

async function made(document: TenantDocument = {}): Promise<FreshTenant> {
  const tenant = freshTenant();
  await policyOf(tenant).create({ own: document, effective: document, actor: ANN, action: "create" });
  return tenant;
}

async function write(tenant: FreshTenant, document: TenantDocument): Promise<void> {
  const next = {
    own: document,
    effective: document,
    deprecatedNames: [],
    ifRevision: null,
    actor: ANN,
    action: "apply",
  };
  await policyOf(tenant).write(next);
}

async function take({ id, stub }: FreshTenant, about: Partial<PolicyRequest> = {}): Promise<CachedPolicy> {
  const snapshot = await requestLease(id, stub, { ...ASK, ...about });
  if (!snapshot) throw new Error("there is no such tenant");
  return snapshot;
}

const later = (milliseconds: number) => vi.setSystemTime(Date.now() + milliseconds);

/** An authority that is reached and answers after a while each; what lies between can be told. */
function slow({ stub }: FreshTenant, between: () => Promise<void> | void): TenantStub {
  return {
    call: async (...called) => {
      const answer = await stub.call(...called);
      await between();
      return answer;
    },
  };
}

describe("a snapshot", () => {
  it("is valid from its request on, however long the answer took", async () => {
    const tenant = await made();
    const stub = slow(tenant, () => {
      later(400);
    });
    const snapshot = await take({ ...tenant, stub });
    expect(snapshot.validUntil).toBe(NOW + 1000);
    vi.setSystemTime(NOW + 999);
    expect(getFreshPolicy(tenant.id)).toBe(snapshot);
    vi.setSystemTime(NOW + 1000);
    expect(getFreshPolicy(tenant.id)).toBeUndefined();
    expect(peekPolicy(tenant.id)).toBe(snapshot);
  });

  it("that took longer than it is valid is never valid", async () => {
    const tenant = await made();
    await take({ ...tenant, stub: slow(tenant, () => void later(1000)) });
    expect(getFreshPolicy(tenant.id)).toBeUndefined();
  });

  it("ends before the authority believes that it does", async () => {
    const tenant = await made({ maxStalenessMs: 700 });
    const { validUntil } = await take({ ...tenant, stub: slow(tenant, () => void later(50)) });
    expect(Date.now() + (await policyOf(tenant).leftMs())).toBeGreaterThanOrEqual(validUntil + 100);
  });

  it("lasts as long as the document says, else as the tenant is declared, by default five seconds", async () => {
    expect((await take(await made({ maxStalenessMs: 50 }))).validUntil).toBe(NOW + 50);
    expect((await take(await made(), { maxStalenessMs: 70 })).validUntil).toBe(NOW + 70);
    expect(DEFAULT_MAX_STALENESS_MS).toBe(5000);
  });

  it("goes by the new document's staleness from the answer that brings it", async () => {
    const tenant = await made({ maxStalenessMs: 60_000 });
    await take(tenant);
    await write(tenant, { maxStalenessMs: 50 });
    expect((await take(tenant)).validUntil).toBe(NOW + 50);
  });

  it("of an absent tenant does not exist, and an earlier one is dropped", async () => {
    const tenant = await made();
    await take(tenant);
    await policyOf(tenant).close("");
    expect(await requestLease(tenant.id, tenant.stub, ASK)).toBeUndefined();
    expect(peekPolicy(tenant.id)).toBeUndefined();
  });

  it("of a tenant in code exists without a creation", async () => {
    const snapshot = await take(freshTenant(), { inCode: true });
    expect(snapshot).toMatchObject({ version: 1, seeded: false, policy: { document: {}, suspensions: [] } });
  });

  it("stays as it was while the authority cannot be reached", async () => {
    const tenant = await made();
    const snapshot = await take(tenant);
    later(2000);
    const away: TenantStub = { call: () => Promise.reject(new Error("away")) };
    await expect(requestLease(tenant.id, away, ASK)).rejects.toThrow("away");
    expect(peekPolicy(tenant.id)).toBe(snapshot);
    expect(getFreshPolicy(tenant.id)).toBeUndefined();
  });

  it("that is dropped is requested in full again", async () => {
    const tenant = await made({ title: "T" });
    await take(tenant);
    evictPolicy(tenant.id);
    evictPolicy(tenant.id);
    expect(peekPolicy(tenant.id)).toBeUndefined();
    expect((await take(tenant)).policy.document).toEqual({ title: "T" });
  });
});

describe("a snapshot that is renewed", () => {
  it("keeps policy, keys, ring and what was computed, while the version is the same", async () => {
    const tenant = await made();
    const first = await take(tenant, { key: KEY });
    first.memo.set("view", 1);
    later(500);
    const second = await take(tenant);
    expect(second).not.toBe(first);
    expect(second.validUntil).toBe(NOW + 1500);
    for (const member of ["policy", "keys", "memo", "ring"] as const) expect(second[member]).toBe(first[member]);
    expect(getFreshPolicy(tenant.id)).toBe(second);
  });

  it("keeps nothing but the ring over a new version", async () => {
    const tenant = await made();
    const first = await take(tenant, { key: KEY });
    first.memo.set("view", 1);
    await write(tenant, { title: "new" });
    const second = await take(tenant);
    expect(second).toMatchObject({ version: 2, policy: { document: { title: "new" } } });
    expect([second.keys.size, second.memo.size]).toEqual([0, 0]);
    expect(second.ring).toBe(first.ring);
  });

  it.each([
    ["suspension", (tenant: FreshTenant) => policyOf(tenant).suspend({ kind: "tenant", name: "", note: "n" }, ANN)],
    [
      "block",
      (tenant: FreshTenant) =>
        policyOf(tenant).takeBlocks(
          { version: 1, blocks: [{ name: "add", note: "n", since: "2026-11-28T00:00:00.000Z" }] },
          "",
        ),
    ],
    ["key", (tenant: FreshTenant) => policyOf(tenant).revokeKey("k1", ANN)],
  ])("learns of every withdrawal: a %s", async (_what, withdraw) => {
    const tenant = await made();
    await policyOf(tenant).addKey(
      { id: "k1", hash: KEY.hash, name: "k", scopes: null, profile: null, expires: null },
      ANN,
    );
    const before = await take(tenant, { key: KEY });
    await withdraw(tenant);
    const after = await take(tenant);
    expect(after.version).toBe(before.version + 1);
    expect(after.keys.size).toBe(0);
  });

  describe("keeps composed catalogs", () => {
    const TOOL = { kind: "tool", name: "add", note: "n" } as const;
    const PROFILES: TenantDocument = { profiles: { p: { tools: { deny: ["add"] } } } };
    const KEY_ROW = { id: "k1", hash: KEY.hash, name: "k", scopes: null, profile: null, expires: null };

    it.each([
      ["a key", (tenant: FreshTenant) => policyOf(tenant).addKey(KEY_ROW, ANN)],
      ["a secret", (tenant: FreshTenant) => policyOf(tenant).setSecret("S", "sealed", ANN)],
      ["limits", (tenant: FreshTenant) => write(tenant, { title: "T", limits: { toolCalls: 7 } })],
      [
        "the suspension of a key",
        (tenant: FreshTenant) => policyOf(tenant).suspend({ kind: "principal", name: "key:k1", note: "n" }, ANN),
      ],
    ])("over a change of %s, which is in force nevertheless", async (_what, change) => {
      const tenant = await made({ title: "T", limits: { toolCalls: 6 } });
      const first = await take(tenant, { key: KEY });
      await change(tenant);
      const second = await take(tenant);
      expect(second.catalogMemo).toBe(first.catalogMemo);
      expect(second.version).toBe(first.version + 1);
      expect([second.keys.size, second.memo.size]).toEqual([0, 0]);
      const { effective, suspensions } = (await policyOf(tenant).read(false)) ?? {};
      expect(second.policy).toMatchObject({ document: effective, suspensions });
    });

    it.each([
      ["what a profile allows", (tenant: FreshTenant) => write(tenant, PROFILES)],
      ["the suspension of a tool", (tenant: FreshTenant) => policyOf(tenant).suspend(TOOL, ANN)],
      [
        "a list of an upstream",
        (tenant: FreshTenant) =>
          createRpcClient(tenant.stub, sectionStore).put({
            name: "s",
            hash: "h",
            body: new ArrayBuffer(1),
            resendToken: null,
          }),
      ],
    ])("not over a change of %s", async (_what, change) => {
      const tenant = await made();
      const first = await take(tenant);
      await change(tenant);
      const second = await take(tenant);
      expect(second.version).toBe(first.version + 1);
      expect(second.catalogMemo).not.toBe(first.catalogMemo);
    });
  });

  it("takes nothing over from another tenant that had the name, at the same version", async () => {
    const tenant = await made({ mode: "open", title: "first" });
    await policyOf(tenant).addKey(
      { id: "k1", hash: KEY.hash, name: "k", scopes: null, profile: null, expires: null },
      ANN,
    );
    expect((await take(tenant, { key: KEY })).keys.get(KEY.cacheKey)).toMatchObject({ id: "k1" });
    await policyOf(tenant).close("");
    await policyOf(tenant).erase();
    later(10_000);
    const second: TenantDocument = { mode: "key", title: "second" };
    await policyOf(tenant).create({ own: second, effective: second, actor: ANN, action: "create" });
    await policyOf(tenant).addKey(
      { id: "k2", hash: "hash of k2", name: "k", scopes: null, profile: null, expires: null },
      ANN,
    );
    const snapshot = await take(tenant);
    expect(snapshot).toMatchObject({ version: 2, policy: { document: second } });
    expect(snapshot.keys.has(KEY.cacheKey)).toBe(false);
  });

  it("is the later answer's, when two asked at once", async () => {
    const tenant = await made({ title: "old" });
    const granted = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    const first = take({
      ...tenant,
      stub: slow(tenant, () => {
        granted.resolve();
        return released.promise;
      }),
    });
    await granted.promise;
    await write(tenant, { title: "new" });
    later(10);
    const second = await take(tenant);
    expect(peekPolicy(tenant.id)).toBe(second);
    released.resolve();
    const answered = await first;
    expect(answered).toMatchObject({ validUntil: NOW + 1000, policy: { document: { title: "old" } } });
    expect(peekPolicy(tenant.id)).toBe(answered);
  });
});

describe("keys in a snapshot", () => {
  it("are remembered by token, those that do not exist too, until the version changes", async () => {
    const tenant = await made();
    const first = await take(tenant, { key: KEY });
    expect([...first.keys]).toEqual([[KEY.cacheKey, null]]);
    await policyOf(tenant).addKey(
      { id: "k1", hash: KEY.hash, name: "ci", scopes: ["a"], profile: "p", expires: NOW + 5 },
      ANN,
    );
    const second = await take(tenant);
    expect(second.keys.has(KEY.cacheKey)).toBe(false);
    const third = await take(tenant, { key: KEY });
    expect([...third.keys]).toEqual([
      [KEY.cacheKey, { id: "k1", name: "ci", scopes: ["a"], profile: "p", expires: NOW + 5 }],
    ]);
  });

  it("are looked up again in each hour of the clock, so that the tenant's object knows which are used", async () => {
    const tenant = await made();
    const first = await take(tenant, { key: KEY });
    later(3_599_999);
    const second = await take(tenant);
    expect(second.keys).toBe(first.keys);
    later(1);
    const [third, fourth] = await Promise.all([
      take(tenant, { key: KEY }),
      take(tenant, { key: { cacheKey: "another", hash: "another" } }),
    ]);
    expect(third.memo).toBe(first.memo);
    expect(fourth.keys).toBe(third.keys);
    expect([...(peekPolicy(tenant.id)?.keys.keys() ?? [])].toSorted()).toEqual(["another", KEY.cacheKey]);
  });

  it("are at most a thousand, so that guesses cannot fill an isolate", async () => {
    const tenant = await made();
    const snapshot = await take(tenant);
    for (let guess = 0; guess < 999; guess += 1) snapshot.keys.set(`guess ${guess}`, null);
    await take(tenant, { key: KEY });
    expect(snapshot.keys.size).toBe(1000);
    // One that is known takes nobody's place, one more takes the oldest one's.
    await take(tenant, { key: KEY });
    expect([snapshot.keys.size, snapshot.keys.has("guess 0")]).toEqual([1000, true]);
    await take(tenant, { key: { cacheKey: "one more", hash: "h" } });
    expect([snapshot.keys.size, snapshot.keys.has("guess 0"), snapshot.keys.has("guess 1")]).toEqual([
      1000,
      false,
      true,
    ]);
  });

  it("are all cached if they are looked up together just after the version changed", async () => {
    const tenant = await made();
    await take(tenant);
    await write(tenant, { title: "another" });
    const [one, two] = await Promise.all(
      ["one", "two"].map((token) => take(tenant, { key: { cacheKey: token, hash: `hash of ${token}` } })),
    );
    expect([...(peekPolicy(tenant.id)?.keys.keys() ?? [])].toSorted()).toEqual(["one", "two"]);
    expect(one?.memo).toBe(two?.memo);
  });

  it("are never the authority's tokens: only a hash leaves the isolate", async () => {
    const tenant = await made();
    const requests: unknown[] = [];
    const stub: TenantStub = {
      call: (...called) => {
        requests.push(called);
        return tenant.stub.call(...called);
      },
    };
    await take({ ...tenant, stub }, { key: KEY });
    expect(JSON.stringify(requests)).toContain(KEY.hash);
    expect(JSON.stringify(requests)).not.toContain(KEY.cacheKey);
  });
});

describe("the memory of an isolate", () => {
  /** A document costs two bytes a character: this one 2 MB, so that seventeen do not fit 32 MiB. */
  const LARGE: TenantDocument = { instructions: "x".repeat(1_000_000) };

  it("drops the least recently used tenants, by bytes, and never the requested one", async () => {
    const tenants: FreshTenant[] = [];
    for (let number = 0; number < 16; number += 1) tenants.push(await made(LARGE));
    for (const tenant of tenants) await take(tenant);
    const isHeld = () => tenants.map(({ id }) => peekPolicy(id) !== undefined);
    expect(isHeld()).toEqual(tenants.map(() => true));
    const [oldest, second] = tenants as [FreshTenant, FreshTenant];
    await take(oldest);
    const another = await made(LARGE);
    await take(another);
    expect(peekPolicy(oldest.id)).toBeDefined();
    expect(peekPolicy(second.id)).toBeUndefined();
    expect(peekPolicy(another.id)).toBeDefined();
    expect(isHeld().filter(Boolean)).toHaveLength(15);
    // What is dropped gives back what it took.
    for (const { id } of [...tenants, another]) evictPolicy(id);
    for (const tenant of tenants) await take(tenant);
    expect(isHeld()).toEqual(tenants.map(() => true));
  });
});

it("snapshots of two tenants share no key, policy or object", async () => {
  const [one, two] = [await made({ title: "one" }), await made({ title: "two" })];
  const [a, b] = await Promise.all([take(one, { key: KEY }), take(two)]);
  expect([a.policy.document.title, b.policy.document.title]).toEqual(["one", "two"]);
  expect(a.ring[0]?.id).not.toBe(b.ring[0]?.id);
  expect(b.keys.size).toBe(0);
  expect(exports.TenantObject.idFromName(one.id).equals(exports.TenantObject.idFromName(two.id))).toBe(false);
});
