// A cached tenant was weighed when its document came: keys and ended sessions of later leases did not count.

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { GrantedLease } from "../../../src/tenants/object/policy-records.ts";
import type { TenantStub } from "../../../src/tenants/object/tenant-uid.ts";
import { DEFAULT_PLACEMENT } from "../../../src/tenants/directory/placement.ts";
import { requestLease, evictPolicy, peekPolicy } from "../../../src/tenants/cache/policy-cache.ts";

const NOW = Date.UTC(2026, 10, 23, 12);
const CREATED = "2026-11-23T12:00:00.000123Z";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: NOW });
});
afterEach(() => {
  vi.useRealTimers();
});

/** What an authority says of a tenant with this document. */
function authority(about: Partial<GrantedLease> = {}): TenantStub {
  const granted: GrantedLease = {
    state: "granted",
    version: 1,
    created: CREATED,
    ring: [],
    seeded: true,
    policy: { document: { mode: "open" }, suspensions: [], deprecatedNames: [] },
    sections: [],
    key: null,
    endedSessions: null,
    ...about,
  };
  return { call: async () => granted };
}

async function lease(id: string, about: Partial<GrantedLease> = {}, memo?: string): Promise<void> {
  const key = memo === undefined ? null : { cacheKey: memo, hash: memo };
  await requestLease(id, authority(about), { placement: DEFAULT_PLACEMENT, maxStalenessMs: 5000, inCode: false, key });
}

const heldOf = (names: readonly string[]) => names.filter((name) => peekPolicy(name) !== undefined).length;

test("tenants of whom many sessions ended make room for others", async () => {
  const names = Array.from({ length: 100 }, (_, at) => `ending-${at}`);
  for (const name of names) {
    await lease(name);
    const nonces = Array.from({ length: 5000 }, (_, at) => `${at}`.padStart(22, "0"));
    await lease(name, { policy: null, endedSessions: { cursor: 5000, since: 0, nonces } });
  }
  // Half a MiB each, of 32.
  expect(heldOf(names)).toBeLessThan(64);
  expect(heldOf(names)).toBeGreaterThan(32);
  for (const name of names) evictPolicy(name);
});

test("tenants with many keys make room for others", async () => {
  const names = Array.from({ length: 100 }, (_, at) => `keys-${at}`);
  for (const name of names) {
    await lease(name);
    for (let at = 0; at < 1000; at += 1) await lease(name, { policy: null }, `key ${at}`);
  }
  expect(heldOf(names)).toBeLessThan(70);
  expect(heldOf(names)).toBeGreaterThan(32);
  for (const name of names) evictPolicy(name);
});

test("tenants whose policy grows make room for others, though their lists stay as they are", async () => {
  const names = Array.from({ length: 100 }, (_, at) => `suspending-${at}`);
  const suspensions = Array.from({ length: 3000 }, (_, at) => {
    return { kind: "principal", name: `key:${at}`, note: "x".repeat(60), since: CREATED, byOperator: false } as const;
  });
  for (const name of names) {
    await lease(name);
    const policy = { document: { mode: "open" }, suspensions, deprecatedNames: [] } as const;
    await lease(name, { version: 2, policy });
  }
  // About a MiB each, of 32.
  expect(heldOf(names)).toBeLessThan(50);
  expect(heldOf(names)).toBeGreaterThan(16);
  for (const name of names) evictPolicy(name);
});

test("a tenant that is dropped gives back what it weighed, so that as many fit as before", async () => {
  const names = Array.from({ length: 1500 }, (_, at) => `plain-${at}`);
  for (const name of names) {
    await lease(name);
    await lease(name, { policy: null }, "key");
    peekPolicy(name)?.endedSessions.add("one more");
  }
  expect(heldOf(names)).toBe(1500);
  for (const name of names) evictPolicy(name);
  for (const name of names) await lease(name);
  expect(heldOf(names)).toBe(1500);
  for (const name of names) evictPolicy(name);
});
