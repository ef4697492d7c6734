// What an isolate counts of a daily limit, and what it asks and tells the tenant's object.

import { describe, expect, test } from "vitest";
import { DailyCalls, REPORT_MS, type DailyAuthority } from "../../src/limits/daily-calls.ts";
import { resolveLimits } from "../../src/limits/limit-definitions.ts";
import type { DailyUse } from "../../src/limits/limit-store.ts";
import type { Limits } from "../../src/tenants/document/tenant-document.ts";

const NOON = Date.UTC(2026, 10, 22, 12);
const MIDNIGHT = Date.UTC(2026, 10, 23);

/** A tenant's object, and a clock that stands until the test moves it. */
function tenantObject() {
  let used: Record<string, number> = {};
  let day = "2026-11-22";
  const asks = { take: 0, count: 0 };
  const sleepers: { readonly at: number; readonly wake: () => void }[] = [];
  const works: Promise<void>[] = [];
  const state = { now: NOON, isAway: false, isUnheard: false };
  const reach = () => {
    if (state.isAway) throw new Error("away");
  };
  const use = (limits: readonly { readonly caller: string }[]): DailyUse => ({
    day,
    used: limits.map(({ caller }) => used[caller] ?? 0),
  });
  const authority: DailyAuthority = {
    take: async (limits) => {
      reach();
      asks.take += 1;
      const isTaken = limits.every(({ caller, most }) => (used[caller] ?? 0) < most);
      if (isTaken) for (const { caller } of limits) used[caller] = (used[caller] ?? 0) + 1;
      return { ...use(limits), isTaken };
    },
    count: async (counted) => {
      reach();
      asks.count += 1;
      for (const { caller, calls } of counted) used[caller] = (used[caller] ?? 0) + calls;
      if (state.isUnheard) throw new Error("the connection was lost");
      return use(counted);
    },
    waitUntil: (work) => works.push(work().catch(() => {})),
    now: () => state.now,
    sleep: (ms) => new Promise((wake) => sleepers.push({ at: state.now + ms, wake })),
  };
  const settle = () => new Promise<void>((resolve) => setImmediate(resolve));
  return {
    authority,
    asks,
    state,
    used: (caller = "") => used[caller] ?? 0,
    settle,
    advance: async (ms: number) => {
      await settle();
      state.now += ms;
      for (const { wake } of sleepers.filter(({ at }) => at <= state.now)) wake();
      await settle();
    },
    nextDay: () => {
      used = {};
      day = "2026-11-23";
      state.now = MIDNIGHT + 1000;
    },
  };
}

type TenantObject = ReturnType<typeof tenantObject>;

const callerOf = (limits: Limits, id = "a") => ({
  tenant: "acme",
  created: "2026-01-01T00:00:00.000Z",
  id,
  isAnonymous: false,
  limits: resolveLimits(limits),
});

/** An isolate: how many of so many calls are served. */
function isolate(at: TenantObject, limits: Limits) {
  const daily = new DailyCalls();
  const take = (id?: string) => daily.take(callerOf(limits, id), at.state.now, () => at.authority);
  const serve = (calls: number, id?: string) =>
    Array.from({ length: calls }, () => take(id)).filter((met) => met === undefined).length;
  return { take, serve };
}

describe("a daily limit that is not exact", () => {
  test("makes no call wait, and lets an isolate serve no more than the limit by itself", () => {
    const at = tenantObject();
    const one = isolate(at, { dailyToolCalls: 10 });
    expect(one.serve(30)).toBe(10);
    expect(one.take()).toEqual({
      name: "dailyToolCalls",
      most: 10,
      seconds: 86_400,
      waitMs: MIDNIGHT - NOON,
    });
  });

  test("is known to a new isolate as soon as it has asked, and asked about once", async () => {
    const at = tenantObject();
    const limits = { dailyToolCalls: 10 };
    isolate(at, limits).serve(10);
    await at.advance(REPORT_MS);
    const two = isolate(at, limits);
    expect(two.serve(3)).toBe(3);
    await at.settle();
    expect(two.serve(3)).toBe(0);
    expect(at.asks).toEqual({ take: 0, count: 3 });
  });

  test("is asked about again by an isolate that nobody called for a while", async () => {
    const at = tenantObject();
    const limits = { dailyToolCalls: 10 };
    const [one, two] = [isolate(at, limits), isolate(at, limits)];
    two.serve(1);
    await at.advance(REPORT_MS);
    one.serve(10);
    await at.advance(REPORT_MS);
    await at.advance(10 * REPORT_MS);
    expect(two.serve(1)).toBe(1);
    await at.settle();
    expect(two.serve(3)).toBe(0);
  });

  test("is exceeded by what isolates serve before they report, and by no more", async () => {
    const at = tenantObject();
    const limits = { dailyToolCalls: 100 };
    const isolates = [isolate(at, limits), isolate(at, limits), isolate(at, limits)];
    for (const { serve } of isolates) serve(1);
    await at.advance(REPORT_MS);
    await at.advance(REPORT_MS);
    for (const { serve } of isolates) expect(serve(40)).toBe(40);
    await at.advance(REPORT_MS);
    await at.advance(REPORT_MS);
    expect(at.used()).toBe(123);
    for (const { serve } of isolates.slice(0, -1)) serve(1);
    await at.advance(REPORT_MS);
    for (const { serve } of isolates) expect(serve(40)).toBe(0);
  });

  test("is reported to the last call, though nobody calls any more", async () => {
    const at = tenantObject();
    const one = isolate(at, { dailyToolCalls: 100 });
    one.serve(3);
    await at.settle();
    one.serve(4);
    await at.advance(REPORT_MS);
    expect([at.used(), at.asks.count]).toEqual([7, 2]);
  });

  test("costs an isolate two questions in its first five seconds, and then one in five seconds for all keys", async () => {
    const at = tenantObject();
    const one = isolate(at, { dailyToolCalls: 1000, principalDailyToolCalls: 1000 });
    for (let second = 0; second < 20; second += 1) {
      for (const id of ["key a", "key b", "key c"]) one.serve(10, id);
      await at.advance(1000);
    }
    expect(at.asks.count).toBeLessThanOrEqual(5);
    await at.advance(REPORT_MS);
    expect([at.used(), at.used("key a")]).toEqual([600, 200]);
  });

  test("is kept by each isolate alone where the object cannot be reached", async () => {
    const at = tenantObject();
    const one = isolate(at, { dailyToolCalls: 10 });
    at.state.isAway = true;
    expect(one.serve(5)).toBe(5);
    await at.advance(REPORT_MS);
    expect(one.serve(10)).toBe(5);
  });

  test("counts no call twice whose report was not heard of", async () => {
    const at = tenantObject();
    const one = isolate(at, { dailyToolCalls: 1000 });
    at.state.isUnheard = true;
    for (let second = 0; second < 30; second += 1) {
      one.serve(1);
      await at.advance(1000);
    }
    await at.advance(REPORT_MS);
    expect(at.used()).toBe(30);
  });

  test("is reported again at once where the clock was ahead and is right again", async () => {
    const at = tenantObject();
    const one = isolate(at, { dailyToolCalls: 1000 });
    at.state.now = NOON + 3_600_000;
    one.serve(1);
    await at.advance(REPORT_MS);
    at.state.now = NOON;
    one.serve(4);
    await at.advance(REPORT_MS);
    expect(at.used()).toBe(5);
  });

  test("begins anew with the day", async () => {
    const at = tenantObject();
    const one = isolate(at, { dailyToolCalls: 10 });
    one.serve(10);
    await at.advance(REPORT_MS);
    expect(one.serve(1)).toBe(0);
    at.nextDay();
    expect(one.serve(20)).toBe(10);
    await at.advance(REPORT_MS);
    expect(at.used()).toBe(10);
  });

  test("counts each key by itself", async () => {
    const at = tenantObject();
    const one = isolate(at, { principalDailyToolCalls: 5 });
    expect([one.serve(9, "key a"), one.serve(9, "key b")]).toEqual([5, 5]);
    await at.advance(REPORT_MS);
    expect([at.used("key a"), at.used("key b")]).toEqual([5, 5]);
  });
});

describe("an exact daily limit", () => {
  test("asks the object for each call, until it is used up", async () => {
    const at = tenantObject();
    const limits = { dailyToolCalls: 5, exact: true };
    const [one, two] = [isolate(at, limits), isolate(at, limits)];
    const met = [];
    for (let call = 0; call < 8; call += 1) met.push(await (call % 2 === 0 ? one : two).take());
    expect(met.map((each) => each?.name)).toEqual([...Array(5).fill(undefined), ...Array(3).fill("dailyToolCalls")]);
    expect(at.asks.take).toBe(6);
  });

  test("takes nothing of the tenant's limit where the key's is used up", async () => {
    const at = tenantObject();
    const limits = { dailyToolCalls: 10, principalDailyToolCalls: 2, exact: true };
    // Each in an isolate that knows nothing.
    for (const name of [undefined, undefined, "principalDailyToolCalls", "principalDailyToolCalls"]) {
      expect((await isolate(at, limits).take())?.name).toBe(name);
    }
    expect(at.used()).toBe(2);
  });

  test("refuses by the day of the object, whatever the clock of the isolate says", async () => {
    const at = tenantObject();
    const limits = { dailyToolCalls: 1, exact: true };
    await isolate(at, limits).take();
    at.state.now = MIDNIGHT + 1;
    expect(await isolate(at, limits).take()).toMatchObject({ name: "dailyToolCalls" });
  });

  test("lets no call through where the object cannot be reached", async () => {
    const at = tenantObject();
    at.state.isAway = true;
    await expect(isolate(at, { dailyToolCalls: 5, exact: true }).take()).rejects.toThrow("away");
  });
});
