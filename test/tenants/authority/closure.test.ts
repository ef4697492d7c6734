// The end of an object: closed, erased, remembered for a while, and then nothing at all.

import { expect, it } from "vitest";
import { CLOSED_FOR_MS, createClosure } from "../../../src/tenants/authority/closure.ts";
import { freshTenant, inside } from "../../support/worker/tenant.ts";

const NOW = Date.UTC(2026, 10, 21, 12);

/** On real storage; `again` is what a later instance of the object finds there. */
function onStorage(
  work: (
    closure: ReturnType<typeof createClosure>,
    again: () => ReturnType<typeof createClosure>,
    storage: DurableObjectStorage,
  ) => Promise<void> | void,
): Promise<void> {
  return inside(freshTenant(), ({ storage }) => work(createClosure(storage), () => createClosure(storage), storage));
}

it("is open until somebody closes it, and over a restart what it was", async () => {
  await onStorage((closure, again) => {
    expect([closure.isClosed(), again().isClosed()]).toEqual([false, false]);
    closure.setClosed(true);
    expect([closure.isClosed(), again().isClosed(), again().erasedUntil()]).toEqual([true, true, undefined]);
    closure.setClosed(false);
    expect([closure.isClosed(), again().isClosed()]).toEqual([false, false]);
  });
});

it("leaves nothing but its own memory when it is erased", async () => {
  await onStorage(async (closure, again, storage) => {
    storage.kv.put("other", 1);
    expect(await closure.erase(NOW)).toBe(NOW + CLOSED_FOR_MS);
    expect([...storage.kv.list()].map(([key]) => key)).toEqual(["closure"]);
    expect(storage.sql.exec("SELECT name FROM sqlite_master WHERE name = 'tenant'").toArray()).toEqual([]);
    expect([closure.isClosed(), again().isClosed()]).toEqual([true, true]);
    expect([closure.erasedUntil(), again().erasedUntil()]).toEqual([NOW + CLOSED_FOR_MS, NOW + CLOSED_FOR_MS]);
  });
});

it("opens again for a tenant that takes the name", async () => {
  await onStorage(async (closure, again) => {
    await closure.erase(NOW);
    closure.setClosed(false);
    expect([closure.isClosed(), again().isClosed(), again().erasedUntil()]).toEqual([false, false, undefined]);
  });
});

it("forgets even itself", async () => {
  await onStorage(async (closure, again, storage) => {
    await closure.erase(NOW);
    await closure.forget();
    expect([closure.isClosed(), again().isClosed(), [...storage.kv.list()]]).toEqual([false, false, []]);
  });
});
