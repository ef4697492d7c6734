// Owns what there is in an isolate now, beside what it counted: streams that are open, calls that were noted and not handed over.

export interface Gauges {
  /** Streams of clients that are open. */
  readonly openStreams: number;
  /** Calls that features noted here, and that the object of their tenant has not taken yet. */
  readonly backlog: number;
}

/** Of this isolate. */
export const GAUGES: { -readonly [level in keyof Gauges]: number } = { openStreams: 0, backlog: 0 };
