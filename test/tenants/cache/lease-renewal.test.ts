// Leases are counted at the binding; the tenant's object is real.

import { env, exports } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createKey } from "../../../src/auth/api-key.ts";
import type { Principal } from "../../../src/auth/principal.ts";
import type { BuiltInFeature } from "../../../src/deployment/deployment.ts";
import { failure, type Failure } from "../../../src/protocol/errors.ts";
import { createWorker, defineTool, type Env } from "../../../src/tenantry.ts";
import { policyStore } from "../../../src/tenants/object/policy-store.ts";
import { createRpcClient } from "../../../src/tenants/object/store.ts";
import type { TenantDocument } from "../../../src/tenants/document/tenant-document.ts";
import { evictPolicy, peekPolicy } from "../../../src/tenants/cache/policy-cache.ts";
import { sendTo, servedTenant, sessionAt } from "../../support/workerd/served-tenant.ts";
import { freshAddress } from "../../support/workerd/tenant.ts";
import { callOn, keeperOf } from "../../support/workerd/object-calls.ts";

const ANN = { name: "ann" };
const LEASE_MS = 12_000;
const REQUESTS = 50;
const LIST = { jsonrpc: "2.0", id: 1, method: "tools/list" };

const realNow = Date.now.bind(Date);
/** By how much the clock was moved, in ms. */
let ahead = 0;
beforeEach(() => {
  ahead = 0;
  vi.spyOn(Date, "now").mockImplementation(() => realNow() + ahead);
});
afterEach(() => {
  vi.restoreAllMocks();
});

interface Place {
  leases: number;
  /** Before the lease of this number is asked for, from 1 on. */
  before: (lease: number) => unknown;
}

/** Bindings at which leases are counted and can be held up. */
function counting(): { readonly at: Env; readonly place: Place } {
  const place: Place = { leases: 0, before: () => undefined };
  const getByName = (...name: Parameters<typeof exports.TenantObject.getByName>) => {
    const object = exports.TenantObject.getByName(...name);
    return keeperOf(async (method, args) => {
      if (method === "policy.lease") {
        place.leases += 1;
        await place.before(place.leases);
      }
      return callOn(object, method, ...args);
    });
  };
  const TenantObject = new Proxy(exports.TenantObject, {
    get: (objects, member) => (member === "getByName" ? getByName : (Reflect.get(objects, member) as unknown)),
  });
  return { at: { ...env, TenantObject } as Env, place };
}

async function setup(document: TenantDocument = {}) {
  const tenant = await servedTenant({ mode: "open", maxStalenessMs: LEASE_MS, ...document });
  const { at, place } = counting();
  const faults: string[] = [];
  const address = freshAddress();
  const tools = [defineTool({ name: "see", handler: () => "seen" })];
  const mcp = createWorker({ tools, hooks: { onError: (error) => faults.push(String(error)) } });
  const send = async (token?: string) => {
    const headers = { "cf-connecting-ip": address, ...(token && { authorization: `Bearer ${token}` }) };
    const answered = await sendTo(mcp, tenant.id, { message: LIST, headers, at });
    await answered.body?.cancel();
    return answered.status;
  };
  /** What so many at once are told, and how many leases that took. */
  const burst = async (tokens: readonly (string | undefined)[] = Array.from({ length: REQUESTS }, () => undefined)) => {
    const before = place.leases;
    const statuses = await Promise.all(tokens.map(send));
    return { leases: place.leases - before, statuses: [...new Set(statuses)] };
  };
  const leftMs = () => (peekPolicy(tenant.id)?.validUntil ?? 0) - Date.now();
  /** Moves the clock to where so much is left of the lease. */
  const until = (ms: number) => {
    ahead += Math.max(0, leftMs() - ms);
  };
  const addKey = async () => {
    const { id, token, hash } = await createKey();
    await createRpcClient(tenant.stub, policyStore).addKey(
      { id, hash, name: "k", scopes: null, profile: null, expires: null },
      ANN,
    );
    return token;
  };
  return { tenant, place, faults, mcp, at, send, burst, until, leftMs, addKey, ending: () => until(LEASE_MS * 0.25) };
}

describe("a lease that is about to end", () => {
  it("is renewed by a request that does not wait for it", async () => {
    const { place, send, ending, until, leftMs } = await setup();
    expect(await send()).toBe(200);
    const gate = Promise.withResolvers<void>();
    place.before = () => gate.promise;
    ending();
    expect(await send()).toBe(200);
    expect(place.leases).toBe(2);
    expect(leftMs()).toBeGreaterThan(0);
    gate.resolve();
    await expect.poll(leftMs, { interval: 5 }).toBeGreaterThan(LEASE_MS / 2);
    until(LEASE_MS * 0.4);
    expect(await send()).toBe(200);
    expect(place.leases).toBe(2);
  });

  it("is renewed once, however many requests come, and however long it takes", async () => {
    const { place, burst, send, ending } = await setup();
    await send();
    const gate = Promise.withResolvers<void>();
    place.before = () => gate.promise;
    ending();
    const few = Array.from({ length: 5 }, () => undefined);
    expect(await burst(few)).toEqual({ leases: 1, statuses: [200] });
    expect(await burst(few)).toEqual({ leases: 0, statuses: [200] });
    gate.resolve();
  });

  it("is not renewed by a request that comes sooner, nor by itself", async () => {
    const { place, send, until } = await setup();
    await send();
    until(LEASE_MS * 0.5);
    expect(await send()).toBe(200);
    until(0);
    expect(place.leases).toBe(1);
  });

  it("serves on where it could not be renewed: that is logged, and not tried again before its end", async () => {
    const { place, faults, send, ending, until } = await setup();
    await send();
    place.before = () => {
      throw new Error("away");
    };
    ending();
    expect([await send(), await send()]).toEqual([200, 200]);
    expect(place.leases).toBe(2);
    expect(faults).toEqual(["Error: away"]);
    place.before = () => undefined;
    until(0);
    expect(await send()).toBe(200);
    expect(place.leases).toBe(3);
  });

  it("is not renewed for a caller that is refused", async () => {
    const { place, send, ending } = await setup({ mode: "key" });
    expect(await send()).toBe(401);
    ending();
    expect(await send()).toBe(401);
    expect(place.leases).toBe(1);
  });

  it("brings withdrawals, which apply to every request after the answer", async () => {
    const { place, send, ending, addKey, tenant, until } = await setup({ mode: "key" });
    const token = await addKey();
    expect(await send(token)).toBe(200);
    const policy = createRpcClient(tenant.stub, policyStore);
    const [key] = await policy.keyPage({ limit: 100 });
    await policy.revokeKey(key?.id ?? "", ANN);
    ending();
    expect(await send(token)).toBe(200);
    await expect.poll(() => peekPolicy(tenant.id)?.version, { interval: 5 }).toBe(3);
    expect(await send(token)).toBe(401);
    expect(place.leases).toBe(2);
    until(0);
  });
});

describe("many requests at the end of a lease", () => {
  it.each([0, 100, 600])("three ask at most, where the authority takes %s ms", async (ms) => {
    const { place, send, burst, until } = await setup();
    await send();
    until(0);
    place.before = () => scheduler.wait(ms);
    const { leases, statuses } = await burst();
    expect(statuses).toEqual([200]);
    expect(leases).toBeLessThanOrEqual(3);
  });

  it("fifty that wait for a lease which is never answered are served by one of their own", async () => {
    const { place, send, burst, at, mcp, tenant, until } = await setup();
    await send();
    until(0);
    place.before = (lease) => (lease === 2 ? new Promise(() => {}) : undefined);
    void sendTo(mcp, tenant.id, { message: LIST, at });
    await expect.poll(() => place.leases, { interval: 5 }).toBe(2);
    expect(await burst()).toEqual({ leases: 1, statuses: [200] });
  });

  it("ask three times at most if the tenant's object fails, and all get a Retry-After", async () => {
    const { place, send, burst, until } = await setup();
    await send();
    until(0);
    place.before = async () => {
      await scheduler.wait(20);
      throw new Error("away");
    };
    const { leases, statuses } = await burst();
    expect(statuses).toEqual([503]);
    expect(leases).toBeLessThanOrEqual(3);
  });

  it("three ask at most where the tenant is gone, and all hear it", async () => {
    const { place, send, burst, until, tenant } = await setup();
    await send();
    until(0);
    await createRpcClient(tenant.stub, policyStore).close(peekPolicy(tenant.id)?.created ?? "");
    place.before = () => scheduler.wait(60);
    const { leases, statuses } = await burst();
    expect(statuses.filter((status) => status !== 404 && status !== 401)).toEqual([]);
    expect(leases).toBeLessThanOrEqual(3);
  });

  it("three ask at most of those that bring keys which the isolate knew", async () => {
    const { send, burst, until, addKey } = await setup({ mode: "key" });
    const tokens = [await addKey(), await addKey(), await addKey(), await addKey(), await addKey()];
    for (const token of tokens) expect(await send(token)).toBe(200);
    until(0);
    const { leases, statuses } = await burst(Array.from({ length: 10 }, () => tokens).flat());
    expect(statuses).toEqual([200]);
    expect(leases).toBeLessThanOrEqual(3);
  });

  it("look up each key if the policy changed meanwhile, and no key is refused", async () => {
    const { send, burst, until, addKey } = await setup({ mode: "key" });
    const tokens = [await addKey(), await addKey(), await addKey(), await addKey(), await addKey()];
    for (const token of tokens) expect(await send(token)).toBe(200);
    await addKey();
    until(0);
    const { leases, statuses } = await burst(Array.from({ length: 10 }, () => tokens).flat());
    expect(statuses).toEqual([200]);
    expect(leases).toBeLessThanOrEqual(3 * tokens.length);
  });
});

describe("an isolate without a lease", () => {
  it("the tenant asks three times at most for fifty requests", async () => {
    const { place, burst } = await setup();
    place.before = () => scheduler.wait(60);
    const { leases, statuses } = await burst();
    expect(statuses).toEqual([200]);
    expect(leases).toBeLessThanOrEqual(3);
  });

  it("a key asks three times at most for fifty requests with it", async () => {
    const { place, burst, send, addKey } = await setup({ mode: "key" });
    const [known, added] = [await addKey(), await addKey()];
    expect(await send(known)).toBe(200);
    place.before = () => scheduler.wait(60);
    const { leases, statuses } = await burst(Array.from({ length: REQUESTS }, () => added));
    expect(statuses).toEqual([200]);
    expect(leases).toBeLessThanOrEqual(3);
  });
});

describe("while the authority is away", () => {
  it("a key and a session get a Retry-After, not a refusal", async () => {
    const { place, send, addKey, tenant, mcp, at } = await setup();
    const token = await addKey();
    const session = await sessionAt(mcp, tenant.id);
    expect(await send(token)).toBe(200);
    place.before = () => {
      throw new Error("away");
    };
    evictPolicy(tenant.id);
    expect([await send(), await send(token)]).toEqual([503, 503]);
    const answered = await sendTo(mcp, tenant.id, { message: LIST, headers: session, at });
    await answered.body?.cancel();
    expect(answered.status).toBe(503);
  });

  it("callers that are refused at the same moment get different Retry-Afters, within fifteen seconds", async () => {
    const { place, mcp, tenant, at } = await setup();
    place.before = () => {
      throw new Error("away");
    };
    const seconds = await Promise.all(
      Array.from({ length: REQUESTS }, async () => {
        const answered = await sendTo(mcp, tenant.id, { message: LIST, at });
        await answered.body?.cancel();
        return Number(answered.headers.get("retry-after"));
      }),
    );
    expect(new Set(seconds).size).toBeGreaterThan(3);
    expect([Math.min(...seconds) >= 5, Math.max(...seconds) <= 15]).toEqual([true, true]);
  });
});

it("no request is refused because its lease ended during authentication", async () => {
  const { id } = await servedTenant({ mode: "open", maxStalenessMs: LEASE_MS, auth: { issuers: [] } });
  let requestCount = 0;
  const who = async ({ principalResult }: { readonly principalResult: Principal | Failure }) => {
    requestCount += 1;
    if (requestCount > 1) return principalResult;
    ahead += (peekPolicy(id)?.validUntil ?? 0) - Date.now() + 1;
    return failure("unauthorized");
  };
  const slow: BuiltInFeature = { name: "slow", resolvePrincipal: who };
  const mcp = createWorker({ features: [slow] });
  expect((await sendTo(mcp, id, { message: LIST })).status).toBe(200);
  expect(requestCount).toBe(2);
});

it("callers are let in though the authority takes longer than its leases last", { timeout: 60_000 }, async () => {
  const { place, burst } = await setup({ maxStalenessMs: 100 });
  place.before = () => scheduler.wait(300);
  const { statuses, leases } = await burst(Array.from({ length: 50 }, () => undefined));
  expect(statuses).toEqual([200]);
  expect(leases).toBeLessThan(20);
});
