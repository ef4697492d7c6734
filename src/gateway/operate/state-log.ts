// Owns the lines in the Worker's log that say how an upstream is doing: one when that changes, and none for each call or
// reading. Whoever operates the Worker is woken by them. Refuses texts with secrets: `why` is what lists say, too.

import type { UpstreamReport } from "../../deployment/deployment.ts";

/** As `upstream show` has it, of what is read. */
export type ReadState = Exclude<UpstreamReport["state"], "disabled">;

export interface StateChange {
  readonly tenant: string;
  readonly upstream: string;
  /** What readings found; or `open` and `closed`: whether this isolate leaves the upstream alone, as its calls ended. */
  readonly state: ReadState | "open" | "closed";
  /** null: it had none yet. */
  readonly was: ReadState | "open" | "closed" | null;
  readonly why: string | null;
  /** Since when it is so, or since when it was not well; milliseconds since the epoch. */
  readonly since: number;
}

const HEALTHY: ReadonlySet<string> = new Set<StateChange["state"]>(["fresh", "closed"]);

/** That the first reading of an upstream found it as it should be is none. */
export function isReportable({ state, was }: Pick<StateChange, "state" | "was">): boolean {
  return state !== was && (was !== null || state !== "fresh");
}

/** One line of JSON, which Workers Logs takes apart by its members. */
export function logState({ since, ...change }: StateChange): void {
  const { state } = change;
  const event = state === "open" || state === "closed" ? "upstream.circuit" : "upstream.state";
  const line = JSON.stringify({ event, ...change, since: new Date(since).toISOString() });
  // No author's hook is known where this is found out.
  // oxlint-disable-next-line no-console
  console[HEALTHY.has(state) ? "info" : "warn"](line);
}

/** What a reading found. `was`: what the one before it found; null: none was of this configuration. */
export function toReadState(
  was: ReadState | null,
  { why, missing = null }: { readonly why: string | null; readonly missing?: string | null },
): ReadState {
  if (why !== null) return was === null || was === "unread" ? "unread" : "lastGood";
  return missing === null ? "fresh" : "degraded";
}
