// What Cloudflare asks for, in US dollars, on the Workers Paid plan, and what a bill comes to.
// https://developers.cloudflare.com/workers/platform/pricing/, durable-objects/platform/pricing/ and
// kv/platform/pricing/

import type { Bill, BilledKind } from "./billed.ts";

export const READ_ON = "2026-11-23";
export const PLAN_USD = 5;

export interface Price {
  readonly what: string;
  /** Of a million. */
  readonly usd: number;
  /** In each month, of the account. */
  readonly included: number;
}

export const PRICES = {
  requests: { what: "requests to the Worker", usd: 0.3, included: 10e6 },
  cpuMs: { what: "CPU milliseconds of the Worker", usd: 0.02, included: 30e6 },
  objectRequests: {
    what: "requests to objects; 20 WebSocket messages count as one",
    usd: 0.15,
    included: 1e6,
  },
  objectSeconds: { what: "GB-seconds of objects", usd: 12.5, included: 400_000 },
  rowsRead: { what: "rows read", usd: 0.001, included: 25e9 },
  rowsWritten: { what: "rows written or deleted; setting an alarm counts as one", usd: 1, included: 50e6 },
  kvReads: { what: "KV reads, including misses", usd: 0.5, included: 10e6 },
  kvWrites: { what: "KV writes", usd: 5, included: 1e6 },
  kvDeletes: { what: "KV deletes", usd: 5, included: 1e6 },
  kvLists: { what: "KV lists", usd: 5, included: 1e6 },
  logEvents: { what: "log entries (Workers Logs)", usd: 0.6, included: 20e6 },
} as const satisfies Record<string, Price>;

export type Priced = keyof typeof PRICES;
export type Amounts = Readonly<Partial<Record<Priced, number>>>;

const MESSAGES_PER_REQUEST = 20;

function amountsIn(bill: Bill): Amounts {
  const { objectCalls = 0, socketMessages = 0, rowsRead = 0, rowsWritten = 0, alarmsSet = 0 } = bill;
  const { kvReads = 0, kvWrites = 0, kvDeletes = 0, kvLists = 0 } = bill;
  return {
    objectRequests: objectCalls + socketMessages / MESSAGES_PER_REQUEST,
    rowsRead,
    rowsWritten: rowsWritten + alarmsSet,
    kvReads,
    kvWrites,
    kvDeletes,
    kvLists,
  };
}

export function added(all: readonly Amounts[]): Amounts {
  const sums: Partial<Record<Priced, number>> = {};
  for (const amounts of all) {
    for (const [name, amount] of Object.entries(amounts) as [Priced, number][]) sums[name] = (sums[name] ?? 0) + amount;
  }
  return sums;
}

export function times(amounts: Amounts, factor: number): Amounts {
  return Object.fromEntries(Object.entries(amounts).map(([name, amount]) => [name, amount * factor]));
}

/** Of one of its kind, at once and later. */
export function amountsOf({ requests, atOnce, later }: BilledKind): Amounts {
  return added([{ requests }, amountsIn(atOnce), amountsIn(later)]);
}

/** US dollars, as if nothing were included. */
export function usdOf(amounts: Amounts): number {
  return (Object.entries(amounts) as [Priced, number][]).reduce(
    (sum, [name, amount]) => sum + (amount / 1e6) * PRICES[name].usd,
    0,
  );
}

/** US dollars of one month, without the plan. */
export function monthly(amounts: Amounts): Readonly<Partial<Record<Priced, number>>> {
  const entries = (Object.entries(amounts) as [Priced, number][]).map(([name, amount]) => {
    const { usd, included } = PRICES[name];
    return [name, (Math.max(0, amount - included) / 1e6) * usd] as const;
  });
  return Object.fromEntries(entries);
}
