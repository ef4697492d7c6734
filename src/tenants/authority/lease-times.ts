// Owns when the leases that were given end: from then on nothing contradicts what was changed.

import type { TableHost } from "./tables.ts";

/** Added to a lease's end before a withdrawal counts: clocks that run at slightly different speeds. */
const CLOCK_SLACK_MS = 100;

export interface Leases {
  note(staleness: number): void;
  effectiveAt(): number;
}

/** What is in memory is lost with the object; then a lease may have been given just now, as long as any ever was. */
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
