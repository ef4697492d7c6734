// Owns what an isolate counts of all its requests: whole numbers, since it began and since its last event. Refuses names: of
// what is counted nobody learns whose it was.

export interface Counts {
  readonly requests: number;
  /** Visits that were let in without asking, and those for which an authority was asked. */
  readonly policyCacheHits: number;
  readonly policyFetches: number;
  /** Calls that an object refused because too many came. */
  readonly overloads: number;
  /** Values that KV did not have. */
  readonly kvMisses: number;
  /** Requests that were answered with an error. */
  readonly refusals: number;
  /** Streams whose socket to an object was opened again. */
  readonly reconnections: number;
  /** Streams that were opened. */
  readonly streams: number;
  /** Errors that were logged, and not kept for `tenantry errors`: too many at once, or their keeper was away. */
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

  /** `key`: of the table of errors. */
  countRejection(key: string): void {
    this.add("refusals");
    this.#refusals[key] = (this.#refusals[key] ?? 0) + 1;
  }

  /** What was counted since this was asked last. */
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

/** Of this isolate. Bound: a number for each row of the table of errors. */
export const COUNTERS = new Counters();
