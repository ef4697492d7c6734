// Owns which bodies in KV are still needed: what no row names is deleted after a grace, and at a tenant's end
// everything is. Whoever writes a body while it is being deleted is told to upload it again.

import { logFault } from "../../telemetry/fault-line.ts";
import { onceASecond } from "../../tenants/authority/once-a-second.ts";
import type { TableHost } from "../../tenants/authority/tables.ts";
import { bodyKey } from "./resource-row.ts";

const MINUTE = 60_000;
/** How long a body that no row names can still be read by whoever has its key. */
export const GARBAGE_GRACE_MS = 10 * MINUTE;
export const COPY_LIFETIME_MS = 5 * MINUTE;
const BATCH = 200;
/** In `collected.until`: the body is being deleted at this moment. */
export const DELETING = Number.MAX_SAFE_INTEGER;

/** Whether KV has a body with this hash: in use, or waiting to be deleted. */
export function isHeld(sql: SqlStorage, hash: string): boolean {
  const query = "SELECT 1 FROM resources WHERE hash = ? UNION ALL SELECT 1 FROM garbage WHERE hash = ? LIMIT 1";
  return sql.exec(query, hash, hash).toArray().length > 0;
}

/**
 * The time to put into an answer "resend", or undefined where the body is in KV for certain: it was not deleted lately,
 * or the writer uploaded it again after the deletion had ended, as `resent` proves by repeating that answer's time.
 */
export function collectedSince(sql: SqlStorage, hash: string, resent: number | null): number | undefined {
  const [row] = sql.exec<{ until: number }>("SELECT until FROM collected WHERE hash = ?", hash).toArray();
  if (!row) return undefined;
  if (row.until === DELETING || row.until !== resent) return row.until;
  sql.exec("DELETE FROM collected WHERE hash = ?", hash);
  return undefined;
}

/** Has a body deleted after the grace, unless a row names it. */
export function discard(host: TableHost, hash: string): void {
  const { sql } = host;
  if (sql.exec("SELECT 1 FROM resources WHERE hash = ? LIMIT 1", hash).toArray().length > 0) return;
  const at = onTheMinute(host.now() + GARBAGE_GRACE_MS);
  sql.exec("INSERT OR REPLACE INTO garbage (hash, collect_at) VALUES (?, ?)", hash, at);
  host.wakeAt(at);
}

/** The time rounded up to a whole minute, so that many writes share one alarm. */
export function onTheMinute(time: number): number {
  return Math.ceil(time / MINUTE) * MINUTE;
}

/** Deletes some of the bodies whose grace is over; gives when to go on, milliseconds since the epoch. */
export async function collect(host: TableHost, now: number): Promise<number | undefined> {
  const { sql } = host;
  for (const table of ["copies", "copy_parts"]) sql.exec(`DELETE FROM ${table} WHERE until <= ?`, now);
  sql.exec("DELETE FROM collected WHERE until <= ?", now);
  const due = sql
    .exec<{ hash: string }>("SELECT hash FROM garbage WHERE collect_at <= ? LIMIT ?", now, BATCH)
    .toArray();
  const { BODIES } = host.env as { BODIES: KVNamespace };
  const mark = (hash: string, until: number) =>
    sql.exec("INSERT OR REPLACE INTO collected (hash, until) VALUES (?, ?)", hash, until);
  for (const { hash } of due) {
    // Asked again: while the body before it was deleted, a write may have taken this one into use.
    if (sql.exec("SELECT 1 FROM garbage WHERE hash = ?", hash).toArray().length === 0) continue;
    // Marked before the deletion: a write of the same content that comes in meanwhile is told to upload again.
    mark(hash, DELETING);
    try {
      await BODIES.delete(bodyKey(host.kept(), hash));
    } catch (error) {
      logFault(error, { tenant: host.tenant, method: "alarm garbage" });
      // Not thrown: the runtime gives up an alarm that fails too often, and with it everything that waits here.
      return now + MINUTE;
    }
    sql.exec("DELETE FROM garbage WHERE hash = ? AND collect_at <= ?", hash, now);
    mark(hash, onTheMinute(now + GARBAGE_GRACE_MS));
  }
  const next = sql
    .exec<{ at: number | null }>(
      `SELECT min(at) AS at FROM (SELECT min(collect_at) AS at FROM garbage UNION ALL SELECT min(until) FROM copies
         UNION ALL SELECT min(until) FROM copy_parts UNION ALL SELECT min(until) FROM collected)`,
    )
    .one().at;
  return next ?? undefined;
}

/** An invocation may have six connections open at once. */
const LANES = 6;
const INDEXES = ["resources", "garbage", "collected"] as const;

/**
 * Deletes at most `limit` bodies: first those that the index knows, then what an upload left behind that was cut off.
 * The caller repeats it until it says `done`.
 */
export async function purge(host: TableHost, limit: number): Promise<{ readonly done: boolean }> {
  if ((await purgeKnown(host, limit)) > 0) return { done: false };
  return { done: (await purgeListed(host, limit)) === 0 };
}

/** Deletes at most `limit` bodies that KV lists; gives how many. */
export async function purgeListed(host: Pick<TableHost, "env" | "kept">, limit: number): Promise<number> {
  const { BODIES } = host.env as { BODIES: KVNamespace };
  const { keys } = await onceASecond(() => BODIES.list({ prefix: bodyKey(host.kept(), ""), limit }));
  await deleteBodies(
    BODIES,
    keys.map((key) => key.name),
  );
  return keys.length;
}

/** Deletes at most `limit` bodies that the index knows; gives how many. */
export async function purgeKnown(host: TableHost, limit: number): Promise<number> {
  const { BODIES } = host.env as { BODIES: KVNamespace };
  const kept = host.kept();
  // The row behind all others names no body.
  const tables = INDEXES.map((table) => `SELECT hash FROM ${table} WHERE hash < x''`);
  const hashes = `SELECT DISTINCT hash FROM (${tables.join(" UNION ALL ")})`;
  const known = host.sql
    .exec<{ hash: string }>(`${hashes} LIMIT ?`, limit)
    .toArray()
    .map((row) => row.hash);
  await deleteBodies(
    BODIES,
    known.map((hash) => bodyKey(kept, hash)),
  );
  // Meanwhile another deletion of the tenant may have come to its end, and what is here now be another one's.
  if (host.kept() !== kept) return 0;
  host.transaction(() => {
    for (const hash of known) for (const table of INDEXES) host.sql.exec(`DELETE FROM ${table} WHERE hash = ?`, hash);
  });
  return known.length;
}

async function deleteBodies(bodies: KVNamespace, keys: readonly string[]): Promise<void> {
  for (let at = 0; at < keys.length; at += LANES) {
    await Promise.all(keys.slice(at, at + LANES).map((key) => onceASecond(() => bodies.delete(key))));
  }
}
