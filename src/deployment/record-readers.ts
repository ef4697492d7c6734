// Owns what the admin API reads of what a tenant's callers did: how often, and the recorded calls. Refuses to say how it is kept:
// whoever offers it is a feature.

/** Of what, and from when to when (hours or days since the epoch, `to` not included). */
export interface UsageQuery {
  readonly by: "hour" | "day";
  readonly from: number;
  readonly to: number;
  /** What is not closed yet, too, and may grow. */
  readonly open: boolean;
  /** The line after which to go on. */
  readonly after: UsageLine | null;
}

/** How often something was called within an hour or a day. */
export interface UsageLine {
  /** Hours or days since the epoch. */
  readonly time: number;
  /** Empty: no profile. */
  readonly profile: string;
  readonly kind: "tool" | "prompt" | "resource" | "request";
  /** As its source calls it; of a request its method; empty for resources, and for what nobody knows. */
  readonly name: string;
  /** The upstream that it is of; empty: none. */
  readonly upstream: string;
  readonly calls: number;
  /** Of those, what ended in an error or a result with `isError`. */
  readonly errors: number;
  /** Of those, what was not begun: over a limit, suspended, not allowed. */
  readonly refused: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
}

/** What a tenant's authority was told of its use. */
export interface UsageReader {
  /** A page of at most 500, by time, profile, kind and name. */
  lines(query: UsageQuery): Promise<{ readonly lines: readonly UsageLine[]; readonly closedTo: number }>;
}

/** A recorded call: its place, its text (JSON), and the hash by which it hangs on the one before. */
export interface RecordedCall {
  readonly sequence: number;
  readonly text: string;
  readonly hash: string;
}

/** `anchor`: on which the oldest that is kept hangs; `head`: the newest. */
export interface RecordedCalls {
  readonly anchor: Omit<RecordedCall, "text">;
  readonly head: Omit<RecordedCall, "text">;
  readonly calls: readonly RecordedCall[];
}

/** What a tenant's authority has of the calls that were recorded. */
export interface CallAuditReader {
  /** At most 200, from the one after `after` on. */
  page(after: number): Promise<RecordedCalls>;
}
