// The records that the admin API reads: a tenant's usage and recorded calls. A feature provides each reader.

/** Times are hours or days since the epoch; `to` is exclusive. */
export interface UsageQuery {
  readonly by: "hour" | "day";
  readonly from: number;
  readonly to: number;
  /** Also include periods that are not closed yet, whose numbers may still grow. */
  readonly open: boolean;
  /** The last line of the previous page. */
  readonly after: UsageLine | null;
}

/** How often something was called within an hour or a day. */
export interface UsageLine {
  /** Hours or days since the epoch. */
  readonly time: number;
  /** Empty: no profile. */
  readonly profile: string;
  readonly kind: "tool" | "prompt" | "resource" | "request";
  /** The name that its source uses. For a request: the method. Empty for resources and for unknown names. */
  readonly name: string;
  /** The upstream that it belongs to; empty if none. */
  readonly upstream: string;
  readonly calls: number;
  /** How many of the calls ended in an error or in a result with `isError`. */
  readonly errors: number;
  /** How many of the calls were rejected before they started: over a limit, suspended, not allowed. */
  readonly refused: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
}

/** Reads the tenant's usage from its tenant object. */
export interface UsageReader {
  /** A page of at most 500 lines, ordered by time, profile, kind and name. */
  lines(query: UsageQuery): Promise<{ readonly lines: readonly UsageLine[]; readonly closedTo: number }>;
}

/** A recorded call: its position, its text (JSON), and the hash that links it to the one before. */
export interface RecordedCall {
  readonly sequence: number;
  readonly text: string;
  readonly hash: string;
}

/** `anchor`: the entry before the oldest that is stored; `head`: the newest entry. */
export interface RecordedCalls {
  readonly anchor: Omit<RecordedCall, "text">;
  readonly head: Omit<RecordedCall, "text">;
  readonly calls: readonly RecordedCall[];
}

/** Reads the tenant's recorded calls from its tenant object. */
export interface CallAuditReader {
  /** At most 200 calls, starting after `after`. */
  page(after: number): Promise<RecordedCalls>;
}
