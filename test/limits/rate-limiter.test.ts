import { describe, expect, test } from "vitest";
import { resolveLimits } from "../../src/limits/limit-definitions.ts";
import { RateLimiter, type LimitedCaller } from "../../src/limits/rate-limiter.ts";
import type { Limits } from "../../src/tenants/document/tenant-document.ts";

const NOW = 1_800_000_000_000;
const callerOf = (id: string, limits: Limits, more: Partial<LimitedCaller> = {}): LimitedCaller => {
  return { tenant: "acme", id, isAnonymous: false, limits: resolveLimits(limits), ...more };
};

/** How many of so many messages pass. */
function passing(limiter: RateLimiter, caller: LimitedCaller, count: number, tool?: string): number {
  return Array.from({ length: count }, () => limiter.take(caller, tool, NOW)).filter((met) => met === undefined).length;
}

describe("a limiter", () => {
  test("counts each key, each address, each tool of them and each tenant by itself", () => {
    const limiter = new RateLimiter();
    const a = callerOf("key a", { principalMessages: 10, toolCalls: 4, tenantMessages: 15 });
    expect(passing(limiter, a, 20, "read")).toBe(4);
    expect(limiter.take(a, "read", NOW)).toMatchObject({ name: "principalMessages", most: 10, seconds: 60 });
    const b = { ...a, id: "key b" };
    expect(passing(limiter, b, 20, "write")).toBe(4);
    const c = { ...a, id: "key c" };
    expect(limiter.take(c, undefined, NOW)).toMatchObject({ name: "tenantMessages", most: 15 });
    expect(passing(limiter, { ...a, tenant: "globex" }, 10)).toBe(10);
    const address = callerOf("key a", { addressMessages: 3, tenantMessages: 100 }, { tenant: "x", isAnonymous: true });
    expect(passing(limiter, address, 9)).toBe(3);
    expect(passing(limiter, { ...address, id: "203.0.113.8" }, 9)).toBe(3);
  });

  test("takes nothing from a caller for what the tenant's own limit refuses", () => {
    const limiter = new RateLimiter();
    const narrow = callerOf("key a", { principalMessages: 10, tenantMessages: 5 });
    expect(passing(limiter, narrow, 50)).toBe(5);
    const wide = callerOf("key a", { principalMessages: 10, tenantMessages: 1000 });
    expect(passing(limiter, wide, 50)).toBeLessThanOrEqual(5);
  });

  test("says when there is room again, and then there is", () => {
    const limiter = new RateLimiter();
    const caller = callerOf("key a", { principalMessages: 60 });
    expect(passing(limiter, caller, 61)).toBe(60);
    expect(limiter.take(caller, undefined, NOW)).toMatchObject({ waitMs: 1000 });
    expect(limiter.take(caller, undefined, NOW + 1000)).toBeUndefined();
  });

  test("asks the location only when more than half is used, and pauses when that has had enough", async () => {
    const limiter = new RateLimiter();
    const caller = callerOf("key a", { principalMessages: 100 });
    const requests: string[] = [];
    const edge = async (key: string) => requests.push(key) <= 12;
    for (let sent = 0; sent < 50; sent += 1) expect(limiter.take(caller, undefined, NOW, edge)).toBeUndefined();
    expect(requests).toEqual([]);
    expect(await limiter.take(caller, undefined, NOW, edge)).toBeUndefined();
    expect(requests).toEqual(Array(10).fill("acme principalMessages key a"));
    const met = await Promise.all(Array.from({ length: 14 }, async () => limiter.take(caller, undefined, NOW, edge)));
    expect(met.find(Boolean)).toMatchObject({ name: "principalMessages", waitMs: 15_000 });
    expect(await limiter.take(caller, undefined, NOW + 14_000, edge)).toBeDefined();
    expect(await limiter.take(caller, undefined, NOW + 15_001, async () => true)).toBeUndefined();
  });

  test("remembers who uses it while fifty thousand others come by", () => {
    const limiter = new RateLimiter();
    const limits = resolveLimits({ principalMessages: 3, tenantMessages: 10_000_000 });
    const a = { tenant: "acme", id: "key a", isAnonymous: false, limits };
    expect(passing(limiter, a, 5)).toBe(3);
    for (let other = 0; other < 50_000; other += 1) {
      expect(limiter.take({ ...a, id: `key ${other}` }, undefined, NOW)).toBeUndefined();
      if (other % 5000 === 0) expect(limiter.take(a, undefined, NOW)).toMatchObject({ name: "principalMessages" });
    }
  });

  test("refuses an address that was refused too often, until some time has passed", () => {
    const limiter = new RateLimiter();
    const limits = resolveLimits({ addressRefusals: 5 });
    const refusals = Array.from({ length: 8 }, () => limiter.countRefusal("203.0.113.7", limits, NOW));
    expect(refusals.filter((met) => met === undefined)).toHaveLength(5);
    expect(limiter.checkRefusals("203.0.113.7", limits, NOW)).toMatchObject({ name: "addressRefusals", most: 5 });
    expect(limiter.checkRefusals("203.0.113.8", limits, NOW)).toBeUndefined();
    expect(limiter.checkRefusals("203.0.113.7", limits, NOW + 12_000)).toBeUndefined();
  });
});
