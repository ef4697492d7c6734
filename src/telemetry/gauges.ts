export interface Gauges {
  /** Clients' streams that are open. */
  readonly openStreams: number;
  /** Calls that features recorded here, and that the tenant object has not received yet. */
  readonly backlog: number;
}

/** The gauges of this isolate. */
export const GAUGES: { -readonly [level in keyof Gauges]: number } = { openStreams: 0, backlog: 0 };
