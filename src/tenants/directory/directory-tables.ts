// The tables of a shard of the directory.

export const DIRECTORY_TABLES = {
  name: "directory",
  migrations: [
    `CREATE TABLE tenants (id TEXT PRIMARY KEY, created TEXT NOT NULL, state TEXT NOT NULL, is_private INTEGER NOT NULL,
       jurisdiction TEXT, region TEXT, told INTEGER NOT NULL DEFAULT 0, suspended INTEGER NOT NULL DEFAULT 0,
       placed INTEGER NOT NULL DEFAULT 0, private_basis INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID`,
    "CREATE INDEX private_tenants ON tenants (id) WHERE is_private = 1",
    // Of which KV does not have the placement yet.
    "CREATE INDEX unplaced_tenants ON tenants (id) WHERE placed = 0 AND state = 'active'",
    // `basis`: the newest revision of its tenant that a claim rests on; how many do and were not withdrawn, and when the last was made.
    `CREATE TABLE hostnames (hostname TEXT PRIMARY KEY, tenant TEXT NOT NULL, created TEXT NOT NULL, basis INTEGER NOT NULL DEFAULT 0,
       open INTEGER NOT NULL DEFAULT 0, claimed INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID`,
    "CREATE TABLE declared (id TEXT PRIMARY KEY, whole INTEGER NOT NULL) WITHOUT ROWID",
    // Of each shard, whether a tenant of it is private, as that one told last; `done`: of the own one, all have heard it.
    `CREATE TABLE hiding (shard INTEGER PRIMARY KEY, hides INTEGER NOT NULL, version INTEGER NOT NULL,
       done INTEGER NOT NULL DEFAULT 1)`,
    "CREATE INDEX hiding_shards ON hiding (shard) WHERE hides = 1",
  ],
};
