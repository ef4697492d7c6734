// One month that is reckoned from what was counted, and what it assumes. Every assumption is to the dear side but those
// that say otherwise.

import type { BilledKind, BilledTable } from "./billed.ts";
import { added, amountsOf, monthly, PLAN_USD, times, type Amounts } from "./prices.ts";

export const TENANTS = 500;
export const CALLS_A_DAY = 10_000;
export const STREAMS = 5000;
export const DAYS = 30;
/** A stream ends after half an hour, and its client opens another one. */
export const STREAM_MINUTES = 30;
/** Of the Worker, for a call; a tool's own work comes on top. */
export const CPU_MS = 1;
/** How long an object runs for a call, with 128 MB: what most calls take is far less. */
export const OBJECT_MS = 10;
const GB = 0.128;
/** Of requests; and one entry for each that fails. */
export const LOGGED = 0.01;
export const FAILING = 0.001;

export function kindOf(table: BilledTable, name: string): BilledKind {
  const kind = table[name];
  if (!kind) throw new Error(`billed.json has no kind "${name}"`);
  return kind;
}

const CALLS = TENANTS * CALLS_A_DAY * DAYS;

/** A call every nine seconds finds no lease of five seconds; isolates are many. So each asks for one. */
function calls(table: BilledTable): Amounts {
  const call = amountsOf(kindOf(table, "a call to an open tenant, without a cached policy"));
  // When a key was used last is written once an hour.
  const uses = TENANTS * 24 * DAYS;
  return added([times(call, CALLS), { rowsRead: CALLS, rowsWritten: uses }]);
}

/** So many streams that stand all the time, with nothing to tell. */
export function streams(table: BilledTable, many: number, days = DAYS): Amounts {
  const opened = amountsOf(kindOf(table, "subscriptions/listen is called again after half an hour"));
  return withTime(times(opened, (many * days * 24 * 60) / STREAM_MINUTES));
}

function withTime(amounts: Amounts): Amounts {
  const { requests = 0, objectRequests = 0 } = amounts;
  return added([
    amounts,
    {
      cpuMs: requests * CPU_MS,
      objectSeconds: objectRequests * (OBJECT_MS / 1000) * GB,
      logEvents: requests * (LOGGED + FAILING),
    },
  ]);
}

export interface Month {
  readonly amounts: Amounts;
  readonly usd: ReturnType<typeof monthly>;
  readonly total: number;
}

/** Each call is a batch: the next call to its isolate comes later than a batch is sent. */
const USAGE_OF_A_CALL: Amounts = { objectRequests: 1, rowsWritten: 2 };

export function reckonMonth(table: BilledTable, { usage = false } = {}): Month {
  const counted = usage ? [withTime(times(USAGE_OF_A_CALL, CALLS))] : [];
  const amounts = added([withTime(calls(table)), streams(table, STREAMS), ...counted]);
  const usd = monthly(amounts);
  return { amounts, usd, total: Object.values(usd).reduce((sum, part) => sum + part, PLAN_USD) };
}
