// Deletes bodies in KV that no row names any more. A grace period lets isolates that have read their keys finish. A
// write of the same content during the deletion is told to upload it again.

import { logError } from "../../telemetry/error-line.ts";
import type { StoreHost } from "./store.ts";

const MINUTE = 60_000;
/** How long a body without a row can still be read by its key. */
export const GARBAGE_GRACE_MS = 10 * MINUTE;
const DELETE_BATCH = 200;
/** The value of `expires` while the body is being deleted. */
export const DELETING = Number.MAX_SAFE_INTEGER;

export interface GarbageTables {
  /** A table with `hash` and `delete_at`. */
  readonly garbageTable: string;
  /** A table with `hash` and `expires`: recently deleted bodies. */
  readonly deletionsTable: string;
  /** The alarm's name in the log. */
  readonly alarmName: string;
  readonly keyOf: (storageKey: string, hash: string) => string;
}

/** Rounds up to a whole minute, so that many writes share one alarm. */
export function ceilToMinute(time: number): number {
  return Math.ceil(time / MINUTE) * MINUTE;
}

/**
 * The time for the answer "resend"; undefined if the body is certainly in KV. That is so if it was not deleted
 * recently, or if the writer uploaded it after the deletion. `resendToken` proves the upload by repeating the answer's
 * time.
 */
export function recentDeletionOf(
  sql: SqlStorage,
  { deletionsTable: deletions }: GarbageTables,
  hash: string,
  resendToken: number | null,
): number | undefined {
  const [row] = sql.exec<{ expires: number }>(`SELECT expires FROM ${deletions} WHERE hash = ?`, hash).toArray();
  if (!row) return undefined;
  if (row.expires === DELETING || row.expires !== resendToken) return row.expires;
  sql.exec(`DELETE FROM ${deletions} WHERE hash = ?`, hash);
  return undefined;
}

/** Schedules the deletion of a body after the grace period. The caller knows that no row names it. */
export function scheduleBodyDeletion(host: StoreHost, { garbageTable: garbage }: GarbageTables, hash: string): void {
  const at = ceilToMinute(host.now() + GARBAGE_GRACE_MS);
  host.sql.exec(`INSERT OR REPLACE INTO ${garbage} (hash, delete_at) VALUES (?, ?)`, hash, at);
  host.scheduleAlarm(at);
}

/** Deletes some of the bodies that are due. Returns when to continue, in milliseconds since the epoch. */
export async function deleteDueBodies(
  host: StoreHost,
  tables: GarbageTables,
  now: number,
): Promise<number | undefined> {
  const { sql } = host;
  const { garbageTable: garbage, deletionsTable: deletions, alarmName: alarm, keyOf } = tables;
  sql.exec(`DELETE FROM ${deletions} WHERE expires <= ?`, now);
  const due = sql
    .exec<{ hash: string }>(`SELECT hash FROM ${garbage} WHERE delete_at <= ? LIMIT ?`, now, DELETE_BATCH)
    .toArray();
  const { BODIES } = host.env as { BODIES: KVNamespace };
  const setDeleted = (hash: string, expires: number) =>
    sql.exec(`INSERT OR REPLACE INTO ${deletions} (hash, expires) VALUES (?, ?)`, hash, expires);
  for (const { hash } of due) {
    // Checked again: while the previous body was deleted, a write may have started to use this one.
    if (sql.exec(`SELECT 1 FROM ${garbage} WHERE hash = ?`, hash).toArray().length === 0) continue;
    // Marked before the deletion, so that a concurrent write of the same content is told to upload again.
    setDeleted(hash, DELETING);
    try {
      await BODIES.delete(keyOf(host.storageKey(), hash));
    } catch (error) {
      logError(error, { tenant: host.tenant, method: `alarm ${alarm}` });
      // Not thrown: the runtime drops an alarm that fails too often, and with it all pending work.
      return now + MINUTE;
    }
    sql.exec(`DELETE FROM ${garbage} WHERE hash = ? AND delete_at <= ?`, hash, now);
    setDeleted(hash, ceilToMinute(now + GARBAGE_GRACE_MS));
  }
  return nextDeletionAt(sql, tables);
}

/** When the next deletion is due, in milliseconds since the epoch. */
function nextDeletionAt(
  sql: SqlStorage,
  { garbageTable: garbage, deletionsTable: deletions }: GarbageTables,
): number | undefined {
  const query = `SELECT min(at) AS at FROM (SELECT min(delete_at) AS at FROM ${garbage} UNION ALL SELECT min(expires) FROM ${deletions})`;
  return sql.exec<{ at: number | null }>(query).one().at ?? undefined;
}
