// An isolate's right to serve without asking: it counts from when it was asked for, and keys stay the same objects.

import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { askLease, dropLease, heldLease } from "../../src/tenants/lease.ts";
import { KEY_LIFETIME_MS } from "../../src/tenants/authority.ts";
import type { TenantStub } from "../../src/tenants/tables.ts";
import { freshTenant, inside } from "../support/worker/tenant.ts";

const START = Date.UTC(2026, 10, 21);
const clock = vi.spyOn(Date, "now");

beforeEach(() => {
  clock.mockReturnValue(START);
});

afterEach(() => {
  clock.mockReset();
});

/** The tenant's own stub, whose answers wait until they are let through. */
function slow(stub: TenantStub): { stub: TenantStub; answer: () => void } {
  const gate = Promise.withResolvers<void>();
  return {
    stub: {
      run: async (...call) => {
        const answer = await stub.run(...call);
        await gate.promise;
        return answer;
      },
    },
    answer: () => {
      gate.resolve();
    },
  };
}

it("is valid from the moment it was asked for, not from its answer", async () => {
  const tenant = freshTenant();
  const { stub, answer } = slow(tenant.stub);
  const asking = askLease(tenant.id, stub, 5000);
  clock.mockReturnValue(START + 4000);
  answer();
  expect((await asking).validUntil).toBe(START + 5000);
  expect(heldLease(tenant.id)).toBeDefined();
  clock.mockReturnValue(START + 4999);
  expect(heldLease(tenant.id)).toBeDefined();
  clock.mockReturnValue(START + 5000);
  expect(heldLease(tenant.id)).toBeUndefined();
});

it("is over before it began when its answer took longer than it lasts", async () => {
  const tenant = freshTenant();
  const { stub, answer } = slow(tenant.stub);
  const asking = askLease(tenant.id, stub, 50);
  clock.mockReturnValue(START + 50);
  answer();
  await asking;
  expect(heldLease(tenant.id)).toBeUndefined();
});

it("keeps the same key objects while the keys are the same", async () => {
  const tenant = freshTenant();
  const first = await askLease(tenant.id, tenant.stub, 5000);
  clock.mockReturnValue(START + 6000);
  const second = await askLease(tenant.id, tenant.stub, 5000);
  expect(second.ring).toBe(first.ring);
  expect(second.validUntil).toBe(START + 11_000);
});

it("takes the new keys when they were rotated, and when the new key starts to seal", async () => {
  const tenant = freshTenant();
  const first = await askLease(tenant.id, tenant.stub, 5000);
  await inside(tenant, ({ storage }) =>
    storage.sql.exec("UPDATE sealing_keys SET created = created - ?", KEY_LIFETIME_MS + 1),
  );
  const rotated = await askLease(tenant.id, tenant.stub, 5000);
  expect(rotated.ring.map(({ id }) => id)).toEqual([first.ring[0]?.id, expect.any(String)]);
  clock.mockReturnValue(START + 3_600_000);
  const settled = await askLease(tenant.id, tenant.stub, 5000);
  expect(settled.ring.map(({ id }) => id)).toEqual(rotated.ring.map(({ id }) => id).toReversed());
});

it("is held for its own tenant only, until it is dropped", async () => {
  const [one, two] = [freshTenant(), freshTenant()];
  await askLease(one.id, one.stub, 5000);
  await askLease(two.id, two.stub, 5000);
  expect(heldLease(one.id)?.ring).not.toEqual(heldLease(two.id)?.ring);
  dropLease(one.id);
  expect(heldLease(one.id)).toBeUndefined();
  expect(heldLease(two.id)).toBeDefined();
  expect(heldLease("constructor")).toBeUndefined();
});

it("is not held when the authority cannot be reached, and the last one goes on to its end", async () => {
  const tenant = freshTenant();
  const down: TenantStub = { run: () => Promise.reject(new Error("unreachable")) };
  await expect(askLease(tenant.id, down, 5000)).rejects.toThrow("unreachable");
  expect(heldLease(tenant.id)).toBeUndefined();
  await askLease(tenant.id, tenant.stub, 5000);
  await expect(askLease(tenant.id, down, 5000)).rejects.toThrow("unreachable");
  expect(heldLease(tenant.id)?.validUntil).toBe(START + 5000);
});

it("makes no request wait for another's answer", async () => {
  const tenant = freshTenant();
  const { stub, answer } = slow(tenant.stub);
  const first = askLease(tenant.id, stub, 5000);
  const second = await askLease(tenant.id, tenant.stub, 5000);
  expect(heldLease(tenant.id)?.validUntil).toBe(second.validUntil);
  answer();
  expect((await first).ring).toBe(second.ring);
});
