// What is served while a tenant's authority is away: a copy where the tenant chose so and nothing was withdrawn, else
// nothing. Each test has a tenant of its own; the copies lie in real KV.

import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ANYWHERE } from "../../../src/tenants/directory/placement.ts";
import type { TenantDocument } from "../../../src/tenants/document/tenant-document.ts";
import { isOverloaded, isStale, keepCopy, staleSnapshot } from "../../../src/tenants/isolate/outage.ts";
import { policyTables } from "../../../src/tenants/authority/policy-tables.ts";
import { askSnapshot, dropSnapshot, type Snapshot } from "../../../src/tenants/isolate/snapshot.ts";
import { remote } from "../../../src/tenants/authority/tables.ts";
import { freshTenant, type FreshTenant } from "../../support/worker/tenant.ts";

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
const copyOf = ({ id }: FreshTenant) => env.BODIES.get<{ document: TenantDocument }>(`outage/${id}`, "json");
const stale = ({ id }: FreshTenant) => staleSnapshot(id, env.BODIES);
const later = (milliseconds: number) => vi.setSystemTime(Date.now() + milliseconds);

/** Asks the authority, and keeps a copy as the endpoint does; says whether one was written or deleted. */
async function serve({ id, stub }: FreshTenant, key: typeof KEY | null = null): Promise<boolean> {
  const snapshot = await askSnapshot(id, stub, { maxStalenessMs: 1000, inCode: false, placement: ANYWHERE, key });
  const copying = snapshot && keepCopy(snapshot, env.BODIES);
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
  await policyOf(tenant).create({ own: document, effective: document, actor: ANN, action: "create" });
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
    expect(await copyOf(tenant)).toEqual({ version: 1, document: OPEN });
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

  it("is written once for a version, and at most every ten seconds", async () => {
    const tenant = await served(OPEN);
    expect(await serve(tenant)).toBe(false);
    await write(tenant, { ...OPEN, title: "U" });
    later(9999);
    expect(await serve(tenant)).toBe(false);
    later(1);
    expect(await serve(tenant)).toBe(true);
    expect((await copyOf(tenant))?.document.title).toBe("U");
    later(60_000);
    expect(await serve(tenant)).toBe(false);
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
    ["has a tool that is blocked everywhere", (tenant) => policyOf(tenant).blockTool("add", "n", ANN)],
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
    later(3_600_000);
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
    await env.BODIES.put(`outage/${tenant.id}`, JSON.stringify({ version: 1, document: { mode: "key" } }));
    expect(await stale(tenant)).toBeUndefined();
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
