import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import type { GrantedLease } from "../../../src/tenants/object/policy-records.ts";
import { sectionKey, type SectionMethods } from "../../../src/tenants/object/section-store.ts";
import type { RpcClient } from "../../../src/tenants/object/store.ts";
import { DEFAULT_PLACEMENT } from "../../../src/tenants/directory/placement.ts";
import { retainSections, loadSection, getCachedSection } from "../../../src/tenants/cache/section-cache.ts";
import { requestLease, peekPolicy } from "../../../src/tenants/cache/policy-cache.ts";

const LARGE = 2 * 1024 * 1024;
/** 62 MiB hold so many large ones, each with what is made of it. */
const FIT = 7;

interface Stored {
  readonly key: string;
  readonly hash: string;
}

let made = 0;

/** A tenant with one section of this, or of so many bytes, in KV. */
async function stored(bytes: number | string, key = `tenant-${(made += 1)}@2026`): Promise<Stored> {
  const body = typeof bytes === "number" ? new Uint8Array(bytes).fill(made) : new TextEncoder().encode(bytes);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", body));
  const hash = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
  await env.BODIES.put(sectionKey(key, hash), body);
  return { key, hash };
}

const isHeld = ({ key, hash }: Stored) => getCachedSection(key, hash) !== undefined;

async function load({ key, hash }: Stored): Promise<void> {
  const place = {
    storageKey: key,
    bodies: env.BODIES,
    sections: (): RpcClient<SectionMethods> => expect.unreachable("it is in KV"),
  };
  expect(await loadSection(place, hash)).toMatchObject({ hash });
}

test("more tenants in turn than fit hit the cache some of the time, and the cache stays full", async () => {
  const tenants: Stored[] = [];
  for (let at = 0; at < FIT + 2; at += 1) tenants.push(await stored(LARGE));
  for (const tenant of tenants) await load(tenant);
  let found = 0;
  for (let round = 0; round < 10; round += 1) {
    for (const tenant of tenants) {
      if (isHeld(tenant)) found += 1;
      else await load(tenant);
      expect(tenants.filter(isHeld)).toHaveLength(FIT);
    }
  }
  // The one that was called least recently is always the next.
  expect(found).toBeGreaterThan(5);
});

test("sections of empty lists take the room of what is made of them", async () => {
  const dense = "[[[[{}]]]],".repeat(LARGE / 11);
  const tenants: Stored[] = [];
  for (let at = 0; at < 3; at += 1) tenants.push(await stored(dense));
  for (const tenant of tenants) await load(tenant);
  // 30 MiB each, of 62.
  expect(tenants.filter(isHeld)).toHaveLength(1);
});

test("large tenants make room for each other rather than have small ones do so", async () => {
  const small: Stored[] = [];
  for (let at = 0; at < 50; at += 1) small.push(await stored(1024));
  for (const tenant of small) await load(tenant);
  for (let at = 0; at < 3 * FIT; at += 1) await load(await stored(LARGE));
  expect(small.filter(isHeld).length).toBeGreaterThan(40);
});

test("one tenant may use more than its share, and is evicted when another one comes", async () => {
  const kept = "largest@2026";
  const sections: Stored[] = [];
  for (let at = 0; at < FIT + 2; at += 1) {
    made += 1;
    sections.push(await stored(LARGE, kept));
  }
  for (const section of sections) await load(section);
  expect(sections.every(isHeld)).toBe(true);
  await load(await stored(1024));
  expect(sections.some(isHeld)).toBe(false);
});

test("values computed from sections are evicted with them", async () => {
  const granted: GrantedLease = {
    state: "granted",
    version: 1,
    created: "2026",
    ring: [],
    seeded: true,
    policy: { document: {}, suspensions: [], deprecatedNames: [] },
    sections: [],
    key: null,
    endedSessions: null,
  };
  const ask = { placement: DEFAULT_PLACEMENT, maxStalenessMs: 5000, inCode: false, key: null };
  await requestLease("listed", { call: async () => granted }, ask);
  const tenant = await stored(LARGE, "listed@2026");
  await load(tenant);
  peekPolicy("listed")?.catalogMemo.set("view", 1);
  while (isHeld(tenant)) await load(await stored(LARGE));
  expect(peekPolicy("listed")?.catalogMemo.size).toBe(0);
});

test("an evicted section is released", async () => {
  const kept = "changed@2026";
  const [before, now] = [await stored(1024, kept), await stored(2048, kept)];
  await load(before);
  await load(now);
  retainSections(kept, [now.hash]);
  expect([before, now].map(isHeld)).toEqual([false, true]);
});
