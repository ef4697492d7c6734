// Tracks when the last granted lease ends: from then on no isolate serves the state before a change. This is the tenant
// object's half of the lease rule; cache/policy-cache.ts is the serving half.

import { deferWrite } from "./defer-write.ts";
import type { StoreHost } from "./store.ts";

/** Added to a lease's end, because the clocks of the object and the isolate run at slightly different speeds. */
const CLOCK_SLACK_MS = 100;

export interface LeaseTracker {
  /** A lease of this length was granted now. */
  record(leaseMs: number): void;
  /** When no lease granted so far is valid any more, or now; milliseconds since the epoch. */
  effectiveAt(): number;
}

/**
 * The memory is lost when the object restarts. Then a lease as long as the longest possible one may have just been
 * granted. A lease length that was not granted for as long as it lasts is forgotten: no isolate has such a lease any
 * more.
 */
export function trackLeases(host: StoreHost): LeaseTracker {
  const { sql } = host;
  /** The stored value: never shorter than a lease that may still run. */
  let stored = sql.exec<{ longest: number }>("SELECT longest FROM leases WHERE one = 1").toArray()[0]?.longest ?? 0;
  let longest = stored;
  /** When the last lease of the longest length ends, and the last lease of any length. */
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
      if (now > longestUntil) {
        // A shorter lease may have been granted later, and still run.
        longest = until - now;
        longestUntil = until;
      }
      if (leaseMs >= longest) {
        longest = leaseMs;
        longestUntil = now + leaseMs;
      }
      // A longer length must be stored before its lease is granted. A shorter one can be stored later.
      if (longest > stored) store();
      else if (longest < stored) deferWrite("leases", store);
      until = Math.max(until, now + leaseMs);
    },
    effectiveAt: () => {
      const now = host.now();
      // No lease runs longer than `longest` from now, even if the clock was ahead when it was granted and was set back
      // since.
      return Math.max(now, Math.min(until, now + longest) + CLOCK_SLACK_MS);
    },
  };
}
