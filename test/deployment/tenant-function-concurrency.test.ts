// Many requests that come while an author's function is slow, silent or failing: it is asked a few times, nobody waits for ever,
// and nobody is told that a tenant is none while somebody still asks.

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createWorker, defineTool, type TenantDefinition } from "../../src/tenantry.ts";
import { peekPolicy } from "../../src/tenants/cache/policy-cache.ts";
import { sendTo } from "../support/workerd/served-tenant.ts";
import { freshAddress, freshTenant } from "../support/workerd/tenant.ts";
import { shortenTimers } from "./shorten-timers.ts";

const LEASE_MS = 60_000;

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

const REQUESTS = 50;

/** A function that waits for `slow` before it answers, and counts. */
function setup(slow: (ask: number) => Promise<unknown> | undefined) {
  const { id } = freshTenant();
  const address = freshAddress();
  const faults: string[] = [];
  const state: { asks: number; row: TenantDefinition | undefined; from: number } = {
    asks: 0,
    row: { maxStalenessMs: LEASE_MS },
    from: Infinity,
  };
  const mcp = createWorker({
    tools: [defineTool({ name: "see", handler: () => "seen" })],
    tenants: async () => {
      state.asks += 1;
      const { row } = state;
      if (state.asks >= state.from) await slow(state.asks - state.from);
      return row;
    },
    hooks: { onError: (error) => faults.push(String(error)) },
  });
  const one = async () => {
    const message = { jsonrpc: "2.0", id: 1, method: "tools/list" };
    const headers = { "cf-connecting-ip": address };
    const answered = await sendTo(mcp, id, { message, headers });
    await answered.body?.cancel();
    return answered.status;
  };
  /** How often it was asked while so many came at once, and what they were told. */
  const burst = async () => {
    const before = state.asks;
    state.from = before + 1;
    const statuses = await Promise.all(Array.from({ length: REQUESTS }, one));
    state.from = Infinity;
    return { asks: state.asks - before, statuses: [...new Set(statuses)] };
  };
  const leaseEnded = () => {
    ahead += Math.max(0, (peekPolicy(id)?.validUntil ?? 0) - Date.now() + 1);
  };
  return { id, state, faults, one, burst, leaseEnded };
}

const after = (ms: number) => scheduler.wait(ms);
const never = () => new Promise<never>(() => {});

describe("while the function is slow", () => {
  it.each([0, 100, 600])("for %s ms waiters at the end of a lease call it three times at most", async (ms) => {
    const { one, burst, leaseEnded } = setup(() => after(ms));
    expect(await one()).toBe(200);
    leaseEnded();
    const { asks, statuses } = await burst();
    expect(statuses).toEqual([200]);
    expect(asks).toBeGreaterThan(0);
    expect(asks).toBeLessThanOrEqual(3);
  });

  it.each([100, 600])("for %s ms no request to an existing tenant gets a 404", async (ms) => {
    const { burst } = setup(() => after(ms));
    const { asks, statuses } = await burst();
    expect(statuses).toEqual([200]);
    // Whether there is such a tenant, and what it is under the lease that it then got.
    expect(asks).toBeLessThanOrEqual(6);
  });

  it("waiting requests learn that the tenant is gone", async () => {
    const { state, one, burst, leaseEnded } = setup(() => after(100));
    expect(await one()).toBe(200);
    leaseEnded();
    state.row = undefined;
    const { asks, statuses } = await burst();
    expect(statuses).toEqual([401]);
    expect(asks).toBeLessThanOrEqual(3);
  });
});

it("a call that never ends delays others for a moment, and its own request for ten seconds", async () => {
  const { faults, id, one, burst, leaseEnded } = setup((ask) => (ask === 0 ? never() : undefined));
  expect(await one()).toBe(200);
  leaseEnded();
  shortenTimers(5);
  const { asks, statuses } = await burst();
  expect(asks).toBe(2);
  expect(new Set(statuses)).toEqual(new Set([200, 503]));
  expect(faults).toEqual([`Error: tenants("${id}"): Error: your function did not answer within 10000 ms`]);
});

it("if it always hangs, all requests end soon after ten seconds, and it was called once a second", async () => {
  const { one, burst, leaseEnded } = setup(never);
  expect(await one()).toBe(200);
  leaseEnded();
  shortenTimers(5);
  const { asks, statuses } = await burst();
  expect(statuses).toEqual([503]);
  expect(asks).toBeLessThanOrEqual(12);
  expect(await one()).toBe(200);
});

it("if it fails, it is called three times at most for all waiters, and again by the next request", async () => {
  const { faults, state, one, burst, leaseEnded } = setup(async () => {
    // By then all have come.
    await after(500);
    throw new Error("no database");
  });
  expect(await one()).toBe(200);
  leaseEnded();
  const { asks, statuses } = await burst();
  expect(statuses).toEqual([503]);
  expect(asks).toBeLessThanOrEqual(3);
  expect(faults.length).toBe(REQUESTS);
  const before = state.asks;
  expect(await one()).toBe(200);
  expect(state.asks - before).toBe(1);
});
