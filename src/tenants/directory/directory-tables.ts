// Owns the tables of a shard of the directory, and what a shard takes over of release 0.1.0, which had one object for all
// names. That one's tables are read and not changed: who goes back to it finds them.

import { hasTable } from "../authority/has-table.ts";
import { shardOf } from "./shard.ts";
import { SHARDS } from "./shards.ts";

export const DIRECTORY_TABLES = {
  name: "directory",
  migrations: [
    `CREATE TABLE tenants (id TEXT PRIMARY KEY, created TEXT NOT NULL, state TEXT NOT NULL, is_private INTEGER NOT NULL,
       jurisdiction TEXT, region TEXT, told INTEGER NOT NULL DEFAULT 0, suspended INTEGER NOT NULL DEFAULT 0,
       placed INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID`,
    "CREATE INDEX private_tenants ON tenants (id) WHERE is_private = 1",
    // Of which KV does not have the placement yet.
    "CREATE INDEX unplaced_tenants ON tenants (id) WHERE placed = 0 AND state = 'active'",
    "CREATE TABLE hostnames (hostname TEXT PRIMARY KEY, tenant TEXT NOT NULL, created TEXT NOT NULL DEFAULT '') WITHOUT ROWID",
    "CREATE TABLE declared (id TEXT PRIMARY KEY, whole INTEGER NOT NULL) WITHOUT ROWID",
    // Of each shard, whether a tenant of it is private, as that one told last; `done`: of the own one, all have heard it.
    `CREATE TABLE hiding (shard INTEGER PRIMARY KEY, hides INTEGER NOT NULL, version INTEGER NOT NULL,
       done INTEGER NOT NULL DEFAULT 1)`,
    "CREATE INDEX hiding_shards ON hiding (shard) WHERE hides = 1",
    // The newest revision of its tenant that a claim rests on, how many do and were not withdrawn, and when the last was made.
    "ALTER TABLE hostnames ADD COLUMN basis INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE hostnames ADD COLUMN open INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE hostnames ADD COLUMN claimed INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE tenants ADD COLUMN private_basis INTEGER NOT NULL DEFAULT 0",
  ],
};

interface Row {
  [column: string]: SqlStorageValue;
}

/** `names`: rows of this shard, by table. `hiding`: the shards that have a private tenant. */
export interface Earlier {
  readonly names: Readonly<Record<string, readonly Row[]>>;
  readonly hiding: readonly number[];
}

/** What release 0.1.0 keeps of a shard's names. */
export function earlierOf(sql: SqlStorage, shard: number): Earlier {
  const names: Record<string, Row[]> = {};
  const hiding = new Set<number>();
  for (const table of ["tenants", "hostnames", "declared"]) {
    if (!hasTable(sql, table)) continue;
    const rows: Row[] = (names[table] = []);
    for (const row of sql.exec<Row>(`SELECT * FROM ${table}`)) {
      const own = shardOf((row["hostname"] ?? row["id"]) as string, SHARDS);
      if (row["is_private"] === 1) hiding.add(own);
      if (own === shard) rows.push(row);
    }
  }
  return { names, hiding: [...hiding] };
}

/** Its columns are some of ours. */
export function takeOver(sql: SqlStorage, { names, hiding }: Earlier): void {
  for (const [table, rows] of Object.entries(names)) {
    for (const row of rows) {
      const columns = Object.keys(row);
      const into = `INSERT INTO ${table} (${columns.join()}) VALUES (${columns.map(() => "?").join()})`;
      sql.exec(into, ...Object.values(row));
    }
  }
  for (const shard of hiding) sql.exec("INSERT INTO hiding (shard, hides, version) VALUES (?, 1, 0)", shard);
}
