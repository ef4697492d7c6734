// Owns until when an isolate that cannot reach the authority may serve what was before a change: a tenant may have chosen
// that. Each change that withdraws notes it first, because the document after it may choose otherwise.

import { outageMsOf, type TenantDocument } from "../document/tenant-document.ts";
import type { TenantHost } from "./tenant-host.ts";

/** Called within the transaction of a change, before it. */
export function noteOutage(host: TenantHost): void {
  const { sql } = host;
  // A tenant with a brake is not served in an outage.
  const [served] = sql
    .exec<{ effective: string }>("SELECT effective FROM tenant WHERE NOT EXISTS (SELECT 1 FROM suspensions)")
    .toArray();
  const forMs = served ? outageMsOf(JSON.parse(served.effective) as TenantDocument) : 0;
  const until = Math.max(staleUntil(host) ?? 0, host.effectiveAt() + forMs);
  if (forMs > 0) sql.exec("INSERT OR REPLACE INTO outages (one, until) VALUES (1, ?)", until);
}

/** How long what was before the last change that withdrew may be served yet, milliseconds; null: nobody serves it. */
export function staleMs(host: Pick<TenantHost, "sql" | "now">): number | null {
  const until = staleUntil(host);
  return until === null ? null : until - host.now();
}

/** The same, by the clock of the object: milliseconds since the epoch. */
export function staleUntil({ sql, now }: Pick<TenantHost, "sql" | "now">): number | null {
  const [row] = sql.exec<{ until: number }>("SELECT until FROM outages WHERE until > ?", now()).toArray();
  return row?.until ?? null;
}
