// Bodies in KV that no row names any more. They are deleted after a grace, for isolates that have read their keys; a write of
// the same content while one is deleted is told to upload it again.

import { logFault } from "../../telemetry/fault-line.ts";
import type { TableHost } from "./tables.ts";

const MINUTE = 60_000;
/** How long a body that no row names can still be read with its key. */
export const GARBAGE_GRACE_MS = 10 * MINUTE;
const BATCH = 200;
/** In `collected.until`: the body is being deleted at this moment. */
export const DELETING = Number.MAX_SAFE_INTEGER;

/** Of one kind of body. */
export interface BodyGarbage {
  /** Its table with `hash` and `collect_at`. */
  readonly garbage: string;
  /** Its table with `hash` and `until`: what was deleted lately. */
  readonly collected: string;
  /** As in the log. */
  readonly alarm: string;
  readonly keyOf: (kept: string, hash: string) => string;
}

/** The time rounded up to a whole minute, so that many writes share one alarm. */
export function onTheMinute(time: number): number {
  return Math.ceil(time / MINUTE) * MINUTE;
}

/**
 * The time to put into an answer "resend", or undefined where the body is in KV for certain: it was not deleted lately,
 * or the writer uploaded it again after the deletion had ended, as `resent` proves by repeating that answer's time.
 */
export function deletedSince(
  sql: SqlStorage,
  { collected }: BodyGarbage,
  hash: string,
  resent: number | null,
): number | undefined {
  const [row] = sql.exec<{ until: number }>(`SELECT until FROM ${collected} WHERE hash = ?`, hash).toArray();
  if (!row) return undefined;
  if (row.until === DELETING || row.until !== resent) return row.until;
  sql.exec(`DELETE FROM ${collected} WHERE hash = ?`, hash);
  return undefined;
}

/** Has a body deleted after the grace. The caller knows that no row names it. */
export function dropLater(host: TableHost, { garbage }: BodyGarbage, hash: string): void {
  const at = onTheMinute(host.now() + GARBAGE_GRACE_MS);
  host.sql.exec(`INSERT OR REPLACE INTO ${garbage} (hash, collect_at) VALUES (?, ?)`, hash, at);
  host.wakeAt(at);
}

/** Deletes some of the bodies whose grace is over; gives when to go on, milliseconds since the epoch. */
export async function collectBodies(host: TableHost, kind: BodyGarbage, now: number): Promise<number | undefined> {
  const { sql } = host;
  const { garbage, collected, alarm, keyOf } = kind;
  sql.exec(`DELETE FROM ${collected} WHERE until <= ?`, now);
  const due = sql
    .exec<{ hash: string }>(`SELECT hash FROM ${garbage} WHERE collect_at <= ? LIMIT ?`, now, BATCH)
    .toArray();
  const { BODIES } = host.env as { BODIES: KVNamespace };
  const mark = (hash: string, until: number) =>
    sql.exec(`INSERT OR REPLACE INTO ${collected} (hash, until) VALUES (?, ?)`, hash, until);
  for (const { hash } of due) {
    // Asked again: while the body before it was deleted, a write may have taken this one into use.
    if (sql.exec(`SELECT 1 FROM ${garbage} WHERE hash = ?`, hash).toArray().length === 0) continue;
    // Marked before the deletion: a write of the same content that comes in meanwhile is told to upload again.
    mark(hash, DELETING);
    try {
      await BODIES.delete(keyOf(host.kept(), hash));
    } catch (error) {
      logFault(error, { tenant: host.tenant, method: `alarm ${alarm}` });
      // Not thrown: the runtime gives up an alarm that fails too often, and with it everything that waits here.
      return now + MINUTE;
    }
    sql.exec(`DELETE FROM ${garbage} WHERE hash = ? AND collect_at <= ?`, hash, now);
    mark(hash, onTheMinute(now + GARBAGE_GRACE_MS));
  }
  return nextGarbage(sql, kind);
}

/** When the next one is due. */
export function nextGarbage(sql: SqlStorage, { garbage, collected }: BodyGarbage): number | undefined {
  const query = `SELECT min(at) AS at FROM (SELECT min(collect_at) AS at FROM ${garbage} UNION ALL SELECT min(until) FROM ${collected})`;
  return sql.exec<{ at: number | null }>(query).one().at ?? undefined;
}
