// Deletes bodies in KV that no row names, after a grace period, and all bodies when a tenant is deleted. A writer of a
// body that is being deleted must upload it again.

import {
  deleteDueBodies,
  recentDeletionOf,
  scheduleBodyDeletion,
  type GarbageTables,
} from "../tenants/object/body-garbage.ts";
import { retryKvWrite } from "../tenants/object/retry-kv-write.ts";
import type { StoreHost } from "../tenants/object/store.ts";
import { bodyKey } from "./resource-row.ts";

export const COPY_LIFETIME_MS = 5 * 60_000;

const RESOURCE_BODIES: GarbageTables = {
  garbageTable: "body_garbage",
  deletionsTable: "body_deletions",
  alarmName: "garbage",
  keyOf: bodyKey,
};

/** Whether KV has a body with this hash: in use, or waiting for deletion. */
export function isStoredInKv(sql: SqlStorage, hash: string): boolean {
  const query = "SELECT 1 FROM resources WHERE hash = ? UNION ALL SELECT 1 FROM body_garbage WHERE hash = ? LIMIT 1";
  return sql.exec(query, hash, hash).toArray().length > 0;
}

/** As `recentDeletionOf`. */
export function deletionOf(sql: SqlStorage, hash: string, resendToken: number | null): number | undefined {
  return recentDeletionOf(sql, RESOURCE_BODIES, hash, resendToken);
}

/** Schedules the deletion of a body after the grace period, unless a row names it. */
export function discardIfUnused(host: StoreHost, hash: string): void {
  const { sql } = host;
  if (sql.exec("SELECT 1 FROM resources WHERE hash = ? LIMIT 1", hash).toArray().length > 0) return;
  scheduleBodyDeletion(host, RESOURCE_BODIES, hash);
}

/** Deletes expired copies and some of the bodies. Returns the time of the next run, in milliseconds since the epoch. */
export async function collectGarbage(host: StoreHost, now: number): Promise<number | undefined> {
  const { sql } = host;
  for (const table of ["body_copies", "body_copy_parts"]) sql.exec(`DELETE FROM ${table} WHERE expires <= ?`, now);
  const next = await deleteDueBodies(host, RESOURCE_BODIES, now);
  const query =
    "SELECT min(at) AS at FROM (SELECT min(expires) AS at FROM body_copies UNION ALL SELECT min(expires) FROM body_copy_parts)";
  const copies = sql.exec<{ at: number | null }>(query).one().at ?? Infinity;
  return next === undefined && copies === Infinity ? undefined : Math.min(next ?? Infinity, copies);
}

/** An invocation may have six connections open at once. */
const KV_CONCURRENCY = 6;
const HASH_TABLES = ["resources", "body_garbage", "body_deletions"] as const;

/**
 * Deletes at most `limit` bodies: first those that the index knows, then leftovers of interrupted uploads. The caller
 * repeats it until `done`.
 */
export async function purgeBodies(host: StoreHost, limit: number): Promise<{ readonly done: boolean }> {
  if ((await purgeIndexedBodies(host, limit)) > 0) return { done: false };
  return { done: (await purgeListedBodies(host, limit)) === 0 };
}

/** Deletes at most `limit` bodies that KV lists. Returns their number. */
export async function purgeListedBodies(host: Pick<StoreHost, "env" | "storageKey">, limit: number): Promise<number> {
  const { BODIES } = host.env as { BODIES: KVNamespace };
  const { keys } = await retryKvWrite(() => BODIES.list({ prefix: bodyKey(host.storageKey(), ""), limit }));
  await deleteBodies(
    BODIES,
    keys.map((key) => key.name),
  );
  return keys.length;
}

/** Deletes at most `limit` bodies that the index knows. Returns their number. */
async function purgeIndexedBodies(host: StoreHost, limit: number): Promise<number> {
  const { BODIES } = host.env as { BODIES: KVNamespace };
  const storageKey = host.storageKey();
  // Skips a final row that names no body.
  const tables = HASH_TABLES.map((table) => `SELECT hash FROM ${table} WHERE hash < x''`);
  const selectHashes = `SELECT DISTINCT hash FROM (${tables.join(" UNION ALL ")})`;
  const hashes = host.sql
    .exec<{ hash: string }>(`${selectHashes} LIMIT ?`, limit)
    .toArray()
    .map((row) => row.hash);
  await deleteBodies(
    BODIES,
    hashes.map((hash) => bodyKey(storageKey, hash)),
  );
  // Another deletion of the tenant may have finished in the meantime, so the rows may belong to a new tenant.
  if (host.storageKey() !== storageKey) return 0;
  host.transaction(() => {
    for (const hash of hashes)
      for (const table of HASH_TABLES) host.sql.exec(`DELETE FROM ${table} WHERE hash = ?`, hash);
  });
  return hashes.length;
}

async function deleteBodies(bodies: KVNamespace, keys: readonly string[]): Promise<void> {
  for (let at = 0; at < keys.length; at += KV_CONCURRENCY) {
    await Promise.all(keys.slice(at, at + KV_CONCURRENCY).map((key) => retryKvWrite(() => bodies.delete(key))));
  }
}
