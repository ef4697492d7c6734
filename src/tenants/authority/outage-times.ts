// Owns until when an isolate that cannot reach the authority may serve what was before a change: a tenant may have chosen
// that. Each change that withdraws notes it first, because the document after it may choose otherwise.

import { outageMsOf, type TenantDocument } from "../document/tenant-document.ts";
import type { TenantHost } from "./tenant-host.ts";

/** Called within the transaction of a change, before it. */
export function noteOutage(host: TenantHost): void {
  const { sql } = host;
  const [row] = sql.exec<{ effective: string }>("SELECT effective FROM tenant").toArray();
  const brakes = sql.exec("SELECT 1 FROM suspensions UNION ALL SELECT 1 FROM blocks LIMIT 1").toArray();
  const forMs = row && brakes.length === 0 ? outageMsOf(JSON.parse(row.effective) as TenantDocument) : 0;
  const until = Math.max(notedUntil(sql), host.effectiveAt() + forMs);
  if (forMs > 0) sql.exec("INSERT OR REPLACE INTO outages (one, until) VALUES (1, ?)", until);
}

/** What was before the last change that withdrew; milliseconds since the epoch, null: nobody serves it. */
export function staleUntil({ sql, now }: Pick<TenantHost, "sql" | "now">): number | null {
  const until = notedUntil(sql);
  return until > now() ? until : null;
}

function notedUntil(sql: SqlStorage): number {
  return sql.exec<{ until: number }>("SELECT until FROM outages").toArray()[0]?.until ?? 0;
}
