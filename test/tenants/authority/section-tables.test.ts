// What a tenant leases beside its policy: by hash, in parts, within bounds, and gone from KV when nobody may look for it.

import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { LeaseGranted } from "../../../src/tenants/authority/policy-records.ts";
import { policyTables } from "../../../src/tenants/authority/policy-tables.ts";
import {
  MAX_SECTION_BYTES,
  MAX_SECTIONS_BYTES,
  sectionKey,
  sectionTables,
} from "../../../src/tenants/authority/section-tables.ts";
import { remote } from "../../../src/tenants/authority/tables.ts";
import { loadSection, writeSection, type SectionPlace } from "../../../src/tenants/isolate/sections.ts";
import { freshTenant, onBench, type FreshTenant } from "../../support/worker/tenant.ts";

const ANN = { name: "ann" };

const placeOf = ({ id, stub }: FreshTenant): SectionPlace => ({
  tenant: id,
  bodies: env.BODIES,
  sections: () => remote(stub, sectionTables),
});

async function made(): Promise<FreshTenant> {
  const tenant = freshTenant();
  await remote(tenant.stub, policyTables).create({ own: {}, effective: {}, actor: ANN, action: "create" });
  return tenant;
}

async function leaseOf({ stub }: FreshTenant, number?: number): Promise<LeaseGranted> {
  const policy = remote(stub, policyTables);
  const before = await policy.lease({ version: null, maxStalenessMs: 50, inCode: false, keyHash: null });
  if (number === undefined) return before as LeaseGranted;
  const version = { number, created: (before as LeaseGranted).created };
  return (await policy.lease({ version, maxStalenessMs: 50, inCode: false, keyHash: null })) as LeaseGranted;
}

const bytes = (size: number, fill = 1) => new Uint8Array(size).fill(fill);

describe("a section", () => {
  it("is leased by its hash, with a version of its own, and is nothing new the second time", async () => {
    const tenant = await made();
    const before = await leaseOf(tenant);
    expect(before.sections).toEqual([]);
    expect(await writeSection(placeOf(tenant), "upstream:a", bytes(10))).toMatchObject({ state: "written" });
    const after = await leaseOf(tenant);
    expect(after.version).toBe(before.version + 1);
    expect(after.sections).toEqual([["upstream:a", expect.stringMatching(/^[0-9a-f]{64}$/)]]);
    expect(await writeSection(placeOf(tenant), "upstream:a", bytes(10))).toEqual({ state: "unchanged" });
    expect(await leaseOf(tenant, after.version)).toMatchObject({ policy: null, sections: null });
  });

  it.each([1, 1_048_576, 1_048_577, MAX_SECTION_BYTES])("of %i bytes is read as it was written", async (size) => {
    const tenant = await made();
    const body = crypto.getRandomValues(new Uint8Array(Math.min(size, 65_536)));
    const whole = Uint8Array.from({ length: size }, (_none, at) => body[at % body.length] ?? 0);
    await writeSection(placeOf(tenant), "s", whole);
    const hash = (await leaseOf(tenant)).sections?.[0]?.[1] ?? "";
    await env.BODIES.delete(sectionKey(tenant.id, hash));
    const loaded = await loadSection(placeOf(tenant), hash);
    expect(loaded?.bytes).toEqual(whole);
  });

  it("that nobody has is undefined, and not made up", async () => {
    expect(await loadSection(placeOf(await made()), "0".repeat(64))).toBeUndefined();
  });

  it("of a tenant that is not there is refused", async () => {
    expect(await writeSection(placeOf(freshTenant()), "s", bytes(1))).toEqual({ state: "absent" });
  });

  it("is refused above its size, and above the size of all", async () => {
    const tenant = await made();
    expect(await writeSection(placeOf(tenant), "s", bytes(MAX_SECTION_BYTES + 1))).toEqual({ state: "full" });
    const most = MAX_SECTIONS_BYTES / MAX_SECTION_BYTES;
    for (let at = 0; at < most; at += 1) {
      expect(await writeSection(placeOf(tenant), `s${at}`, bytes(MAX_SECTION_BYTES, at))).toMatchObject({
        state: "written",
      });
    }
    expect(await writeSection(placeOf(tenant), "more", bytes(1, 99))).toEqual({ state: "full" });
    // In the place of one of them there is room.
    expect(await writeSection(placeOf(tenant), "s0", bytes(5, 99))).toMatchObject({ state: "written" });
  });
});

it("what was replaced is deleted in KV when nobody's lease names it any more, and not what is in use again", async () => {
  const deleted: string[] = [];
  const bodies = {
    delete: async (key: string | string[]) => {
      deleted.push(String(key));
    },
  };
  const tenant = await made();
  const put = (hash: string) => ({ name: "s", hash, body: bytes(1).buffer });
  await onBench(
    sectionTables,
    async ({ methods, open, clock, wakes }) => {
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
