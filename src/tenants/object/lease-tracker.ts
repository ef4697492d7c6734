// Owns when the last lease that was given ends: from then on no isolate serves what was before a change. The authority
// half of the lease rule; isolate/snapshot.ts is the serving half.

import { deferWrite } from "./defer-write.ts";
import type { StoreHost } from "./store.ts";

/** Added to a lease's end, because the clocks of object and isolate run at slightly different speeds. */
const CLOCK_SLACK_MS = 100;

export interface LeaseTracker {
  /** A lease was given just now, for this many milliseconds. */
  record(leaseMs: number): void;
  /** When no lease given so far is valid any more, or now; milliseconds since the epoch. */
  effectiveAt(): number;
}

/**
 * What is in memory is lost with the object; then a lease may have been given just now, as long as any that may still run.
 * A length that no lease has had for as long as it lasts is forgotten: nobody holds one any more.
 */
export function trackLeases(host: StoreHost): LeaseTracker {
  const { sql } = host;
  /** What the row says: never less than what a lease may have that still runs. */
  let stored = sql.exec<{ longest: number }>("SELECT longest FROM leases WHERE one = 1").toArray()[0]?.longest ?? 0;
  let longest = stored;
  /** When the last lease of that length ends, and the last of any length. */
  let longestUntil = host.now() + longest;
  let until = longest === 0 ? 0 : longestUntil;
  const store = () => {
    if (longest === stored) return;
    sql.exec(
      "INSERT INTO leases (one, longest) VALUES (1, ?) ON CONFLICT (one) DO UPDATE SET longest = ?",
      longest,
      longest,
    );
    stored = longest;
  };
  return {
    record: (leaseMs) => {
      const now = host.now();
      if (leaseMs > longest || (leaseMs < longest && now > longestUntil)) longest = leaseMs;
      // A longer one must not be given before it is written down; that there is none any more can wait.
      if (longest > stored) store();
      else if (longest < stored) deferWrite("leases", store);
      if (leaseMs === longest) longestUntil = now + leaseMs;
      until = Math.max(until, now + leaseMs);
    },
    effectiveAt: () => {
      const now = host.now();
      // No lease runs longer from now on, also where the clock was ahead when it was given, and is right again.
      return Math.max(now, Math.min(until, now + longest) + CLOCK_SLACK_MS);
    },
  };
}
