// An isolate's counters over all requests: totals since its start, and increments since its last event. They contain no
// names, so they reveal nothing about tenants.

export interface Counts {
  readonly requests: number;
  /** Authorized requests with a cached policy, and those for which a tenant object was asked. */
  readonly policyCacheHits: number;
  readonly policyFetches: number;
  /** Calls that a Durable Object rejected because it was overloaded. */
  readonly overloads: number;
  /** Reads of keys that KV did not have. */
  readonly kvMisses: number;
  /** Requests that were answered with an error. */
  readonly refusals: number;
  /** Streams whose socket to a Durable Object was reopened. */
  readonly reconnections: number;
  /** Streams that were opened. */
  readonly streams: number;
  /** Errors that were logged, but not stored for `tenantry errors`: too many at once, or the object was unreachable. */
  readonly errorsDropped: number;
}

export type CounterName = keyof Counts;

const NONE: Counts = {
  requests: 0,
  policyCacheHits: 0,
  policyFetches: 0,
  overloads: 0,
  kvMisses: 0,
  refusals: 0,
  reconnections: 0,
  streams: 0,
  errorsDropped: 0,
};

export class Counters {
  readonly #total: Record<CounterName, number> = { ...NONE };
  readonly #refusals: Record<string, number> = {};
  #since: Record<CounterName, number> = { ...NONE };

  add(what: CounterName): void {
    this.#total[what] += 1;
    this.#since[what] += 1;
  }

  /** `key`: of the error table. */
  countRejection(key: string): void {
    this.add("refusals");
    this.#refusals[key] = (this.#refusals[key] ?? 0) + 1;
  }

  /** The counts since the last call. */
  take(): Counts {
    const taken = this.#since;
    this.#since = { ...NONE };
    return taken;
  }

  get total(): Counts {
    return { ...this.#total };
  }

  get refusals(): Readonly<Record<string, number>> {
    return { ...this.#refusals };
  }
}

/** The counters of this isolate. Bound: one number for each row of the error table. */
export const COUNTERS = new Counters();
