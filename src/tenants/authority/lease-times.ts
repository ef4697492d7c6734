// Owns when the last lease that was given ends: from then on no isolate serves what was before a change. The authority
// half of the lease rule; isolate/snapshot.ts is the serving half.

import type { TableHost } from "./tables.ts";

/** Added to a lease's end, because the clocks of object and isolate run at slightly different speeds. */
const CLOCK_SLACK_MS = 100;

export interface Leases {
  /** A lease was given just now, for this many milliseconds. */
  note(staleness: number): void;
  /** When no lease given so far is valid any more, or now; milliseconds since the epoch. */
  effectiveAt(): number;
}

/**
 * The end of the last lease is kept in memory alone, to write no row for each lease. A new instance of the object knows
 * only the longest lease that was ever given, and takes it that one such was given just now.
 */
export function trackLeases(host: TableHost): Leases {
  const { sql } = host;
  let longest = sql.exec<{ longest: number }>("SELECT longest FROM leases WHERE one = 1").toArray()[0]?.longest ?? 0;
  let until = longest === 0 ? 0 : host.now() + longest;
  return {
    note: (staleness) => {
      if (staleness > longest) {
        longest = staleness;
        sql.exec(
          "INSERT INTO leases (one, longest) VALUES (1, ?) ON CONFLICT (one) DO UPDATE SET longest = ?",
          longest,
          longest,
        );
      }
      until = Math.max(until, host.now() + staleness);
    },
    effectiveAt: () => Math.max(host.now(), until + CLOCK_SLACK_MS),
  };
}
