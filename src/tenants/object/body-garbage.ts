// Bodies in KV that no row names any more. They are deleted after a grace, for isolates that have read their keys; a write of
// the same content while one is deleted is told to upload it again.

import { logError } from "../../telemetry/error-line.ts";
import type { StoreHost } from "./store.ts";

const MINUTE = 60_000;
/** How long a body that no row names can still be read with its key. */
export const GARBAGE_GRACE_MS = 10 * MINUTE;
const DELETE_BATCH = 200;
/** In `collected.until`: the body is being deleted at this moment. */
export const DELETING = Number.MAX_SAFE_INTEGER;

/** Of one kind of body. */
export interface GarbageTables {
  /** Its table with `hash` and `collect_at`. */
  readonly garbageTable: string;
  /** Its table with `hash` and `until`: what was deleted lately. */
  readonly deletedTable: string;
  /** As in the log. */
  readonly alarmName: string;
  readonly keyOf: (kept: string, hash: string) => string;
}

/** The time rounded up to a whole minute, so that many writes share one alarm. */
export function ceilToMinute(time: number): number {
  return Math.ceil(time / MINUTE) * MINUTE;
}

/**
 * The time to put into an answer "resend", or undefined where the body is in KV for certain: it was not deleted lately,
 * or the writer uploaded it again after the deletion had ended, as `resent` proves by repeating that answer's time.
 */
export function recentDeletionOf(
  sql: SqlStorage,
  { deletedTable: collected }: GarbageTables,
  hash: string,
  resendToken: number | null,
): number | undefined {
  const [row] = sql.exec<{ until: number }>(`SELECT until FROM ${collected} WHERE hash = ?`, hash).toArray();
  if (!row) return undefined;
  if (row.until === DELETING || row.until !== resendToken) return row.until;
  sql.exec(`DELETE FROM ${collected} WHERE hash = ?`, hash);
  return undefined;
}

/** Has a body deleted after the grace. The caller knows that no row names it. */
export function scheduleBodyDeletion(host: StoreHost, { garbageTable: garbage }: GarbageTables, hash: string): void {
  const at = ceilToMinute(host.now() + GARBAGE_GRACE_MS);
  host.sql.exec(`INSERT OR REPLACE INTO ${garbage} (hash, collect_at) VALUES (?, ?)`, hash, at);
  host.scheduleAlarm(at);
}

/** Deletes some of the bodies whose grace is over; gives when to go on, milliseconds since the epoch. */
export async function deleteDueBodies(
  host: StoreHost,
  tables: GarbageTables,
  now: number,
): Promise<number | undefined> {
  const { sql } = host;
  const { garbageTable: garbage, deletedTable: collected, alarmName: alarm, keyOf } = tables;
  sql.exec(`DELETE FROM ${collected} WHERE until <= ?`, now);
  const due = sql
    .exec<{ hash: string }>(`SELECT hash FROM ${garbage} WHERE collect_at <= ? LIMIT ?`, now, DELETE_BATCH)
    .toArray();
  const { BODIES } = host.env as { BODIES: KVNamespace };
  const setDeleted = (hash: string, until: number) =>
    sql.exec(`INSERT OR REPLACE INTO ${collected} (hash, until) VALUES (?, ?)`, hash, until);
  for (const { hash } of due) {
    // Asked again: while the body before it was deleted, a write may have taken this one into use.
    if (sql.exec(`SELECT 1 FROM ${garbage} WHERE hash = ?`, hash).toArray().length === 0) continue;
    // Marked before the deletion: a write of the same content that comes in meanwhile is told to upload again.
    setDeleted(hash, DELETING);
    try {
      await BODIES.delete(keyOf(host.storageKey(), hash));
    } catch (error) {
      logError(error, { tenant: host.tenant, method: `alarm ${alarm}` });
      // Not thrown: the runtime gives up an alarm that fails too often, and with it everything that waits here.
      return now + MINUTE;
    }
    sql.exec(`DELETE FROM ${garbage} WHERE hash = ? AND collect_at <= ?`, hash, now);
    setDeleted(hash, ceilToMinute(now + GARBAGE_GRACE_MS));
  }
  return nextDeletionAt(sql, tables);
}

/** When the next one is due. */
export function nextDeletionAt(
  sql: SqlStorage,
  { garbageTable: garbage, deletedTable: collected }: GarbageTables,
): number | undefined {
  const query = `SELECT min(at) AS at FROM (SELECT min(collect_at) AS at FROM ${garbage} UNION ALL SELECT min(until) FROM ${collected})`;
  return sql.exec<{ at: number | null }>(query).one().at ?? undefined;
}
