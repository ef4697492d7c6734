// What the Worker of many tenants is asked and answers, and what comes of it.

/** What an isolate of production has. */
export const HEAP_BUDGET_MIB = 128;

export interface Entering {
  names: string[];
}

export interface Making extends Entering {
  maxStalenessMs: number;
}

/** `held`: requests that found their lease; `asked`: those that did not. `objects`: calls by method. `reads`: of KV. */
export interface Calls {
  held: number;
  asked: number;
  reads: number;
  objects: Record<string, number>;
}

/** What some requests took. */
export interface Traffic {
  name: string;
  requests: number;
  /** Different ones. */
  tenants: number;
  cpuMicros: number;
  p50Ms: number;
  p99Ms: number;
  /** The part of the requests that found a lease. */
  hitRate: number;
  /** Calls of objects per request; of the isolate's one lease of the platform's policy; and reads of KV. */
  objectCalls: number;
  reads: number;
}

export interface Crowd {
  filledSeconds: number;
  /** In MiB: with one tenant, and after the traffic of many. */
  heapMiB: { one: number; many: number };
  /** Of Zipf traffic, and the same of one tenant. */
  traffic: Traffic[];
  /** At so many calls a second. */
  rates: Traffic[];
}
