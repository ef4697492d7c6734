import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import type { GrantedLease } from "../../../src/tenants/object/policy-records.ts";
import { policyStore } from "../../../src/tenants/object/policy-store.ts";
import { sectionsIn } from "../../../src/tenants/object/section-hash-store.ts";
import {
  MAX_SECTION_BYTES,
  MAX_SECTIONS_BYTES,
  sectionKey,
  sectionStore,
  type SectionBody,
  type SectionMethods,
  type SectionWriteResult,
} from "../../../src/tenants/object/section-store.ts";
import { createRpcClient, type RpcClient } from "../../../src/tenants/object/store.ts";
import { loadSection, writeSection, type SectionLocation } from "../../../src/tenants/cache/section-cache.ts";
import {
  freshTenant,
  inside,
  withStore,
  oneTenant,
  rowsOf,
  type FreshTenant,
  NO_UID,
} from "../../support/workerd/tenant.ts";

const ANN = { name: "ann" };
const BIRTH = { own: {}, effective: {}, actor: ANN, action: "create" };

const placeOf = ({ id, stub }: FreshTenant): SectionLocation => ({
  storageKey: id,
  bodies: env.BODIES,
  sections: () => createRpcClient(stub, sectionStore),
});

async function made(): Promise<FreshTenant> {
  const tenant = freshTenant();
  await createRpcClient(tenant.stub, policyStore).create({ ...BIRTH, created: NO_UID });
  return tenant;
}

async function leaseOf({ stub }: FreshTenant, number?: number): Promise<GrantedLease> {
  const policy = createRpcClient(stub, policyStore);
  const before = await policy.lease({ version: null, maxStalenessMs: 50, inCode: false, keyHash: null });
  if (number === undefined) return before as GrantedLease;
  const version = { number, created: (before as GrantedLease).created };
  return (await policy.lease({ version, maxStalenessMs: 50, inCode: false, keyHash: null })) as GrantedLease;
}

const bytes = (size: number, fill = 1) => new Uint8Array(size).fill(fill);

/** Written for the tenant that has the name now, unless `created` says for which. */
async function write(tenant: FreshTenant, name: string, body: Uint8Array): Promise<SectionWriteResult> {
  return writeSection(placeOf(tenant), { name, bytes: body });
}

async function inKv({ id }: FreshTenant): Promise<number> {
  const { keys } = await env.BODIES.list({ prefix: sectionKey(id, "") });
  return keys.length;
}

describe("a section", () => {
  it("is leased by its hash, with a version of its own, and is nothing new the second time", async () => {
    const tenant = await made();
    const before = await leaseOf(tenant);
    expect(before.sections).toEqual([]);
    expect(await write(tenant, "upstream:a", bytes(10))).toMatchObject({ state: "written" });
    const after = await leaseOf(tenant);
    expect(after.version).toBe(before.version + 1);
    expect(after.sections).toEqual([["upstream:a", expect.stringMatching(/^[0-9a-f]{64}$/)]]);
    expect(await write(tenant, "upstream:a", bytes(10))).toEqual({ state: "unchanged" });
    expect(await leaseOf(tenant, after.version)).toMatchObject({ policy: null, sections: null });
  });

  it.each([0, 1, 1_048_576, 1_048_577, MAX_SECTION_BYTES])("of %i bytes is read as it was written", async (size) => {
    const tenant = await made();
    const body = crypto.getRandomValues(new Uint8Array(Math.min(size, 65_536)));
    const whole = Uint8Array.from({ length: size }, (_none, at) => body[at % body.length] ?? 0);
    await write(tenant, "s", whole);
    const hash = (await leaseOf(tenant)).sections?.[0]?.[1] ?? "";
    await env.BODIES.delete(sectionKey(tenant.id, hash));
    const loaded = await loadSection(placeOf(tenant), hash);
    expect(loaded?.bytes).toEqual(whole);
  });

  it("that does not exist is undefined", async () => {
    expect(await loadSection(placeOf(await made()), "0".repeat(64))).toBeUndefined();
  });

  it("of an unknown tenant is refused", async () => {
    const tenant = freshTenant();
    const never = { ...tenant, stub: oneTenant(tenant.id, NO_UID) };
    await expect(write(never, "s", bytes(1))).rejects.toThrow("unknownTenant");
    expect(await inKv(never)).toBe(0);
  });

  it("is refused above its size, and above the size of all", async () => {
    const tenant = await made();
    expect(await write(tenant, "s", bytes(MAX_SECTION_BYTES + 1))).toEqual({ state: "full" });
    const most = MAX_SECTIONS_BYTES / MAX_SECTION_BYTES;
    for (let at = 0; at < most; at += 1) {
      expect(await write(tenant, `s${at}`, bytes(MAX_SECTION_BYTES, at))).toMatchObject({
        state: "written",
      });
    }
    expect(await write(tenant, "more", bytes(1, 99))).toEqual({ state: "full" });
    // In the place of one of them there is room.
    expect(await write(tenant, "s0", bytes(5, 99))).toMatchObject({ state: "written" });
  });
});

it("a section is refused for another tenant of the same name, and so is its removal", async () => {
  const tenant = await made();
  const policy = createRpcClient(tenant.stub, policyStore);
  const first = { ...tenant, stub: oneTenant(tenant.id, NO_UID) };
  await policy.close(NO_UID);
  await policy.create(BIRTH);
  await expect(write(first, "s", bytes(1))).rejects.toThrow("unknownTenant");
  expect(await inKv(tenant)).toBe(0);
  expect(await write(tenant, "s", bytes(2))).toMatchObject({ state: "written" });
  await expect(createRpcClient(first.stub, sectionStore).remove("s")).rejects.toThrow("unknownTenant");
  expect((await leaseOf(tenant)).sections).toHaveLength(1);
});

describe("equal sections", () => {
  const part = MAX_SECTION_BYTES;

  it("are one body, and one more of them needs no room", async () => {
    const tenant = await made();
    for (const [at, name] of ["a", "b", "c", "d"].entries()) await write(tenant, name, bytes(part, at));
    expect(await write(tenant, "e", bytes(part, 3))).toMatchObject({ state: "written" });
    // What it shared is still the other's.
    expect(await write(tenant, "e", bytes(1, 99))).toEqual({ state: "full" });
    expect(await write(tenant, "e", bytes(part, 0))).toMatchObject({ state: "written" });
  });

  it("do not let the others grow beyond the bound when they differ again", async () => {
    const tenant = await made();
    for (const [name, fill] of Object.entries({ a: 1, b: 1, c: 3, d: 4, e: 5 }))
      await write(tenant, name, bytes(part, fill));
    expect(await write(tenant, "a", bytes(part, 6))).toEqual({ state: "full" });
    const [stored] = await rowsOf(tenant, "SELECT sum(length(part)) AS bytes FROM section_parts");
    expect(stored?.["bytes"]).toBe(MAX_SECTIONS_BYTES);
  });
});

describe("a refused section leaves nothing in KV", () => {
  it("where it is larger than any section may be", async () => {
    const tenant = await made();
    expect(await write(tenant, "s", bytes(MAX_SECTION_BYTES + 1))).toEqual({ state: "full" });
    expect(await inKv(tenant)).toBe(0);
  });

  it("where there is no tenant any more", async () => {
    const tenant = await made();
    await createRpcClient(tenant.stub, policyStore).close(NO_UID);
    const gone = { ...tenant, stub: oneTenant(tenant.id, NO_UID) };
    await expect(write(gone, "s", bytes(1))).rejects.toThrow("unknownTenant");
    expect(await inKv(tenant)).toBe(0);
  });

  it("once its grace is over, where all sections are too large together", async () => {
    const tenant = await made();
    for (let at = 0; at < 4; at += 1) await write(tenant, `s${at}`, bytes(MAX_SECTION_BYTES, at));
    expect(await write(tenant, "more", bytes(1, 99))).toEqual({ state: "full" });
    expect(await inKv(tenant)).toBe(5);
    await inside(tenant, ({ storage }) => storage.sql.exec("UPDATE section_garbage SET delete_at = 1"));
    expect(await runDurableObjectAlarm(tenant.object)).toBe(true);
    expect(await inKv(tenant)).toBe(4);
  });
});

it("a section that comes back while its body is being deleted is in KV afterwards", async () => {
  const tenant = await made();
  const stored = new Set<string>();
  const during: (() => Promise<void>)[] = [];
  const bodies = {
    put: async (key: string) => void stored.add(key),
    delete: async (key: string | string[]) => {
      await during.shift()?.();
      stored.delete(String(key));
    },
  };
  await withStore(
    sectionStore,
    async ({ methods, open, clock, sql }) => {
      let puts = 0;
      const put = async (section: SectionBody) => {
        puts += 1;
        return methods.put(section);
      };
      const has = async (name: string, hash: string) => methods.has(name, hash);
      const sections = () => ({ has, put }) as RpcClient<SectionMethods>;
      const place = { storageKey: tenant.id, bodies: bodies as unknown as KVNamespace, sections };
      const again = (fill: number) => writeSection(place, { name: "s", bytes: bytes(1, fill) });
      await again(1);
      await again(2);
      let writing: Promise<SectionWriteResult> | undefined;
      during.push(async () => {
        writing = again(1);
        // The first try ends while the deletion is on its way.
        await vi.waitFor(() => expect(puts).toBe(3), { timeout: 15_000 });
      });
      clock.now += 600_000;
      await open.alarm?.(clock.now);
      expect(await writing).toMatchObject({ state: "written" });
      const [[, hash] = ["", ""]] = sectionsIn(sql);
      expect(stored).toContain(sectionKey(tenant.id, hash));
      expect(methods.body(hash)).toEqual(bytes(1, 1).buffer);
    },
    { tenant, bodies },
  );
});

it("a replaced section is deleted from KV when no lease names it any more, unless it is used again", async () => {
  const deleted: string[] = [];
  const bodies = {
    delete: async (key: string | string[]) => {
      deleted.push(String(key));
    },
  };
  const tenant = await made();
  const put = (hash: string) => ({ name: "s", hash, body: bytes(1).buffer, resendToken: null });
  await withStore(
    sectionStore,
    async ({ methods, open, clock, alarms: wakes }) => {
      for (const hash of ["one", "two", "three", "two"]) methods.put(put(hash));
      expect(wakes).toContain(clock.now + 600_000);
      expect(await open.alarm?.(clock.now + 599_999)).toBe(clock.now + 600_000);
      expect(deleted).toEqual([]);
      await open.alarm?.(clock.now + 600_000);
      expect(deleted.toSorted()).toEqual([sectionKey(tenant.id, "one"), sectionKey(tenant.id, "three")]);
      expect(methods.body("two")).not.toBeNull();
      expect(methods.remove("s")).toMatchObject({ state: "written" });
      expect([methods.remove("s"), methods.body("two")]).toEqual([{ state: "unchanged" }, null]);
    },
    { tenant, bodies },
  );
});
