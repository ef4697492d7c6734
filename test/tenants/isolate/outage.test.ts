// What is served while a tenant's authority is away: a copy where the tenant chose so and nothing was withdrawn, else
// nothing. Each test has a tenant of its own; the copies lie in real KV.

import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ANYWHERE } from "../../../src/tenants/directory/placement.ts";
import type { TenantDocument } from "../../../src/tenants/document/tenant-document.ts";
import { isOverloaded } from "../../../src/tenants/isolate/asked-again.ts";
import { endOutage, isStale, keepCopy, repeatedSnapshot, staleSnapshot } from "../../../src/tenants/isolate/outage.ts";
import { newIncarnation } from "../../../src/tenants/authority/incarnation.ts";
import { policyTables } from "../../../src/tenants/authority/policy-tables.ts";
import { askSnapshot, dropSnapshot, type Snapshot } from "../../../src/tenants/isolate/snapshot.ts";
import { remote } from "../../../src/tenants/authority/tables.ts";
import { freshTenant, type FreshTenant, MADE_BEFORE } from "../../support/worker/tenant.ts";

const ANN = { name: "ann" };
const NOW = Date.UTC(2026, 10, 21, 12);
const OPEN: TenantDocument = { mode: "open", outage: "stale", title: "T" };
const KEY = { memo: "token of k1", hash: "hash of k1" };

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: NOW });
});
afterEach(() => {
  vi.useRealTimers();
});

const policyOf = ({ stub }: FreshTenant) => remote(stub, policyTables);
const copyOf = ({ id }: FreshTenant) =>
  env.BODIES.get<{ document: TenantDocument; until: number }>(`outage/${id}`, "json");
const stale = ({ id }: FreshTenant) => staleSnapshot(id, ANYWHERE, env.BODIES);
const later = (milliseconds: number) => vi.setSystemTime(Date.now() + milliseconds);

/** KV with one method of the test's own. */
function bodiesWith(member: "put" | "delete", own: (...args: unknown[]) => Promise<unknown>): KVNamespace {
  return new Proxy(env.BODIES, {
    get: (kv, name) => (name === member ? own : (Reflect.get(kv, name) as () => unknown).bind(kv)),
  });
}
const failing = (member: "put" | "delete") => bodiesWith(member, () => Promise.reject(new Error("KV 500")));

/** Asks the authority, and keeps a copy as the endpoint does; says whether one was written or deleted. */
async function serve(
  { id, stub }: FreshTenant,
  key: typeof KEY | null = null,
  bodies: KVNamespace = env.BODIES,
): Promise<boolean> {
  const snapshot = await askSnapshot(id, stub, { maxStalenessMs: 1000, inCode: false, placement: ANYWHERE, key });
  const copying = snapshot && keepCopy(snapshot, bodies);
  await copying;
  return copying !== undefined;
}

async function write(tenant: FreshTenant, document: TenantDocument): Promise<void> {
  const next = { own: document, effective: document, retired: [], ifRevision: null, actor: ANN, action: "apply" };
  await policyOf(tenant).write(next);
}

/** Made with this document, and served once. */
async function served(document: TenantDocument): Promise<FreshTenant> {
  const tenant = freshTenant();
  await policyOf(tenant).create({
    created: MADE_BEFORE,
    own: document,
    effective: document,
    actor: ANN,
    action: "create",
  });
  await serve(tenant);
  return tenant;
}

/** As another isolate sees it, which never served the tenant. */
async function elsewhere(tenant: FreshTenant): Promise<Snapshot | undefined> {
  dropSnapshot(tenant.id);
  return stale(tenant);
}

describe("a copy", () => {
  it("is kept of an open tenant that chose it, and holds its definitions alone", async () => {
    const tenant = await served(OPEN);
    // A lease of 1 s, and 10 s after it.
    expect(await copyOf(tenant)).toEqual({ created: MADE_BEFORE, version: 1, document: OPEN, until: NOW + 11_000 });
  });

  it.each<[string, TenantDocument]>([
    ["nothing about outages", { mode: "open" }],
    ["closed", { mode: "open", outage: "closed" }],
    ["stale, of a tenant that takes a key", { mode: "key", outage: "stale" }],
    ["stale, of a tenant that does not say it is open", { outage: "stale" }],
  ])("is not kept where the document says %s", async (_what, document) => {
    const tenant = await served(document);
    expect(await copyOf(tenant)).toBeNull();
    expect(await elsewhere(tenant)).toBeUndefined();
  });

  it("expires in KV a minute after it may be served, because KV keeps nothing for less", async () => {
    const expiring = async (document: TenantDocument) => {
      const { id } = await served(document);
      const { keys } = await env.BODIES.list({ prefix: `outage/${id}` });
      return keys[0]?.expiration;
    };
    // KV in the tests has the real time.
    vi.useRealTimers();
    const now = Date.now() / 1000;
    const [short, long] = [await expiring(OPEN), await expiring({ ...OPEN, outageSeconds: 3600 })];
    expect([short, long]).toEqual([expect.closeTo(now + 71, -2), expect.closeTo(now + 3661, -2)]);
  });

  it("is written for a version, and at most every ten seconds", async () => {
    const tenant = await served(OPEN);
    expect(await serve(tenant)).toBe(false);
    await write(tenant, { ...OPEN, title: "U" });
    later(9999);
    expect(await serve(tenant)).toBe(false);
    later(1);
    expect(await serve(tenant)).toBe(true);
    expect((await copyOf(tenant))?.document.title).toBe("U");
  });

  it.each([
    [10, 10_000],
    [100, 50_000],
    [86_400, 43_200_000],
  ])(
    "that may be served for %i s is written again every %i ms, so that it is there when it is needed",
    async (outageSeconds, every) => {
      const tenant = await served({ ...OPEN, outageSeconds });
      later(every - 1);
      expect(await serve(tenant)).toBe(false);
      later(1);
      expect(await serve(tenant)).toBe(true);
      expect(await copyOf(tenant)).toMatchObject({ until: Date.now() + 1000 + outageSeconds * 1000 });
    },
  );

  it("that KV did not take is written with the next lease", async () => {
    const tenant = freshTenant();
    await policyOf(tenant).create({ created: MADE_BEFORE, own: OPEN, effective: OPEN, actor: ANN, action: "create" });
    await expect(serve(tenant, null, failing("put"))).rejects.toThrow("KV 500");
    expect(await serve(tenant)).toBe(true);
    expect(await copyOf(tenant)).not.toBeNull();
  });

  it("that KV did not delete is deleted with the next lease", async () => {
    const tenant = await served(OPEN);
    await write(tenant, { ...OPEN, mode: "key" });
    await expect(serve(tenant, null, failing("delete"))).rejects.toThrow("KV 500");
    expect(await serve(tenant)).toBe(true);
    expect(await copyOf(tenant)).toBeNull();
    expect(await serve(tenant)).toBe(false);
  });

  it("that KV takes after a withdrawal has deleted it is deleted once more", async () => {
    const tenant = freshTenant();
    await policyOf(tenant).create({ created: MADE_BEFORE, own: OPEN, effective: OPEN, actor: ANN, action: "create" });
    let taken: (() => void) | undefined;
    const slow = bodiesWith("put", async (key, copy) => {
      await new Promise<void>((resolve) => (taken = resolve));
      await env.BODIES.put(String(key), String(copy));
    });
    const writing = serve(tenant, null, slow);
    await expect.poll(() => taken).toBeDefined();
    await policyOf(tenant).suspend({ kind: "tenant", name: "", note: "n" }, ANN);
    expect(await serve(tenant)).toBe(true);
    taken?.();
    await writing;
    expect(await copyOf(tenant)).toBeNull();
  });

  it.each<[string, (tenant: FreshTenant) => Promise<unknown>]>([
    ["takes a key", (tenant) => write(tenant, { ...OPEN, mode: "key" })],
    ["wants to be closed", (tenant) => write(tenant, { ...OPEN, outage: "closed" })],
    ["says nothing about outages any more", (tenant) => write(tenant, { mode: "open" })],
    ["is suspended", (tenant) => policyOf(tenant).suspend({ kind: "tenant", name: "", note: "n" }, ANN)],
    [
      "has a suspended principal",
      (tenant) => policyOf(tenant).suspend({ kind: "principal", name: "anonymous", note: "n" }, ANN),
    ],
  ])("is gone at once where the tenant %s, however new it is", async (_what, withdraw) => {
    const tenant = await served(OPEN);
    await withdraw(tenant);
    later(1);
    expect(await serve(tenant)).toBe(true);
    expect(await copyOf(tenant)).toBeNull();
    expect(await stale(tenant)).toBeUndefined();
    expect(await elsewhere(tenant)).toBeUndefined();
  });

  it("is there again once a suspension is lifted", async () => {
    const tenant = await served(OPEN);
    await policyOf(tenant).suspend({ kind: "tool", name: "add", note: "n" }, ANN);
    await serve(tenant);
    await policyOf(tenant).resume("tool", "add", ANN);
    expect(await serve(tenant)).toBe(true);
    expect((await copyOf(tenant))?.document).toEqual(OPEN);
  });
});

describe("while the authority is away", () => {
  it("an isolate that served the tenant goes on with what it held, marked", async () => {
    const tenant = await served(OPEN);
    later(1000);
    const snapshot = await stale(tenant);
    expect(snapshot).toMatchObject({ version: 1, policy: { document: OPEN }, validUntil: Date.now() + 2000 });
    expect(snapshot && isStale(snapshot)).toBe(true);
    expect(snapshot?.ring).toHaveLength(1);
  });

  it("another isolate serves the copy, marked, without anything that grants", async () => {
    const tenant = await served(OPEN);
    const snapshot = await elsewhere(tenant);
    expect(snapshot).toMatchObject({ tenant: tenant.id, policy: { document: OPEN, suspensions: [], retired: [] } });
    expect([snapshot?.ring.length, snapshot?.keys.size, snapshot && isStale(snapshot)]).toEqual([0, 0, true]);
  });

  it.each<[string, number, TenantDocument]>([
    ["ten seconds after its lease", 11_000, OPEN],
    ["as long as operators allowed", 101_000, { ...OPEN, outageSeconds: 100 }],
  ])("a tenant is served %s, from memory and from the copy, and not longer", async (_what, after, document) => {
    const [here, there] = [await served(document), await served(document)];
    dropSnapshot(there.id);
    later(after - 1);
    expect(await stale(here)).toMatchObject({ validUntil: NOW + after });
    expect(await stale(there)).toMatchObject({ validUntil: NOW + after });
    later(1);
    expect([await stale(here), await stale(there)]).toEqual([undefined, undefined]);
  });

  it("what was served is repeated for two seconds, and no longer than the authority is away", async () => {
    const tenant = await served(OPEN);
    const snapshot = await stale(tenant);
    later(1999);
    expect(repeatedSnapshot(tenant.id)).toBe(snapshot);
    later(1);
    expect(repeatedSnapshot(tenant.id)).toBeUndefined();
    await stale(tenant);
    endOutage(tenant.id);
    expect(repeatedSnapshot(tenant.id)).toBeUndefined();
  });

  it("no key is taken, not even one that was good when the authority was last asked", async () => {
    const tenant = await served(OPEN);
    const key = { id: "k1", hash: KEY.hash, name: "k", scopes: null, profile: null, expires: null };
    await policyOf(tenant).addKey(key, ANN);
    await serve(tenant, KEY);
    expect((await stale(tenant))?.keys.get(KEY.memo)).toBeUndefined();
  });

  it.each<TenantDocument>([{ mode: "open" }, { mode: "key", outage: "stale" }])(
    "a tenant that is %j stays closed, though an isolate holds it",
    async (document) => {
      expect(await stale(await served(document))).toBeUndefined();
    },
  );

  it("a copy that says it is no copy to serve is not served", async () => {
    const tenant = freshTenant();
    const copy = { version: 1, document: { mode: "key" }, until: Date.now() + 1000 };
    await env.BODIES.put(`outage/${tenant.id}`, JSON.stringify(copy));
    expect(await stale(tenant)).toBeUndefined();
  });

  it("a copy is of one tenant of its name, and of no other that was there before it or comes after it", async () => {
    const [first, second] = [newIncarnation(NOW), newIncarnation(NOW)];
    const tenant = freshTenant();
    const born = { own: OPEN, effective: OPEN, actor: ANN, action: "create" };
    await policyOf(tenant).create({ ...born, created: first });
    await serve(tenant);
    dropSnapshot(tenant.id);
    const staleOf = (created: string) => staleSnapshot(tenant.id, { ...ANYWHERE, created }, env.BODIES);
    expect([await staleOf(second), await staleOf(MADE_BEFORE)]).toEqual([undefined, undefined]);
    expect(await staleOf(first)).toMatchObject({ created: first });
  });

  it("a tenant that nobody ever served is not known", async () => {
    expect(await stale(freshTenant())).toBeUndefined();
  });

  it("what the authority says then takes the place of the copy", async () => {
    const tenant = await served(OPEN);
    await elsewhere(tenant);
    await write(tenant, { ...OPEN, title: "U" });
    const { id, stub } = tenant;
    const snapshot = await askSnapshot(id, stub, {
      maxStalenessMs: 1000,
      inCode: false,
      placement: ANYWHERE,
      key: null,
    });
    expect(snapshot).toMatchObject({ version: 2, policy: { document: { title: "U" } } });
    expect(snapshot && isStale(snapshot)).toBe(false);
  });
});

it.each<[unknown, boolean]>([
  [Object.assign(new Error("busy"), { overloaded: true }), true],
  [Object.assign(new Error("gone"), { overloaded: false, retryable: true }), false],
  [new Error("Durable Object is overloaded"), false],
  ["overloaded", false],
  [null, false],
  [undefined, false],
])("tells overloaded from unreachable: %s is %s", (error, expected) => {
  expect(isOverloaded(error)).toBe(expected);
});
