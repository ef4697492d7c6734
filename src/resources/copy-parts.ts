// Copies of large bodies beside the index, in parts, for the minutes in which KV may report a new body as missing. At
// most 256 parts are stored at a time. A body without a copy is read from KV, a minute later if need be.

import { ceilToMinute } from "../tenants/object/body-garbage.ts";
import type { StoreHost } from "../tenants/object/store.ts";
import { COPY_LIFETIME_MS } from "./garbage.ts";

/** SQLite in a Durable Object stores at most 2 MB in a row. */
export const PART_BYTES = 1024 * 1024;
const MAX_PARTS = 256;

/** `expires` comes before the part, so that a scan of the times does not read the bytes. */
export const partMigrations: readonly string[] = [
  `CREATE TABLE body_copy_parts (hash TEXT NOT NULL, position INTEGER NOT NULL, expires INTEGER NOT NULL, part BLOB NOT NULL,
     PRIMARY KEY (hash, position)) WITHOUT ROWID`,
];

export function storePart(host: StoreHost, hash: string, at: number, part: ArrayBuffer): boolean {
  const { sql } = host;
  const { parts } = sql.exec<{ parts: number }>("SELECT count(*) AS parts FROM body_copy_parts").one();
  if (parts >= MAX_PARTS || !host.hasCapacity()) return false;
  const expires = ceilToMinute(host.now() + COPY_LIFETIME_MS);
  sql.exec(
    "INSERT OR REPLACE INTO body_copy_parts (hash, position, expires, part) VALUES (?, ?, ?, ?)",
    hash,
    at,
    expires,
    part,
  );
  host.scheduleAlarm(expires);
  return true;
}

export function readPart(sql: SqlStorage, hash: string, at: number): ArrayBuffer | undefined {
  const query = "SELECT part FROM body_copy_parts WHERE hash = ? AND position = ?";
  return sql.exec<{ part: ArrayBuffer }>(query, hash, at).toArray()[0]?.part;
}
