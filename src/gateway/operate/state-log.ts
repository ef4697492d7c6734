// Log lines about an upstream's state: one per change, none per call or refresh, so that operators can alert on them.
// `why` must not contain secrets, because lists show it too.

import type { TenantEvent } from "../../tenants/object/tenant-events.ts";
import type { UpstreamReport } from "../../deployment/deployment.ts";

/** The state from refreshes, as `upstream show` reports it. */
export type ReadState = Exclude<UpstreamReport["state"], "disabled">;

export interface StateChange {
  readonly tenant: string;
  readonly upstream: string;
  /** The result of refreshes. `open` and `closed` are the state of this isolate's circuit breaker. */
  readonly state: ReadState | "open" | "closed";
  readonly was: ReadState | "open" | "closed" | null;
  readonly why: string | null;
  /** Since when the state holds, or since when the upstream had been failing. Milliseconds since the epoch. */
  readonly since: number;
}

const HEALTHY: ReadonlySet<string> = new Set<StateChange["state"]>(["fresh", "closed"]);

/** A first refresh without problems is not logged. */
export function isReportable({ state, was }: Pick<StateChange, "state" | "was">): boolean {
  return state !== was && (was !== null || state !== "fresh");
}

/** One line of JSON, whose members Workers Logs indexes. */
export function logState({ since, ...change }: StateChange): void {
  const { state } = change;
  const event = state === "open" || state === "closed" ? "upstream.circuit" : "upstream.state";
  const line = JSON.stringify({ event, ...change, since: new Date(since).toISOString() });
  // The author's hooks are not available in these places.
  // oxlint-disable-next-line no-console
  console[HEALTHY.has(state) ? "info" : "warn"](line);
}

/** State after a refresh. `was` is the state before, or null if this configuration has none. */
export function toReadState(
  was: ReadState | null,
  { why, missing = null }: { readonly why: string | null; readonly missing?: string | null },
): ReadState {
  if (why !== null) return was === null || was === "unread" ? "unread" : "lastGood";
  return missing === null ? "fresh" : "degraded";
}

const DOWN: ReadonlySet<string | null> = new Set(["unread", "lastGood"]);

/** An event for people, or none. `since` is when the upstream began to fail, milliseconds since the epoch. */
export function toUpstreamEvents({ upstream, state, was, why, since }: StateChange): readonly TenantEvent[] {
  const data = { upstream, why };
  if (DOWN.has(state)) return [{ type: "upstream.down", deduplicationKey: `${upstream} ${since}`, data }];
  if (DOWN.has(was)) return [{ type: "upstream.up", deduplicationKey: `${upstream} ${since}`, data }];
  return state === "degraded" ? [{ type: "definitions.held", deduplicationKey: `${upstream} ${why}`, data }] : [];
}
