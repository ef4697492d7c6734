export const DIRECTORY_SCHEMA = {
  name: "directory",
  migrations: [
    `CREATE TABLE tenants (id TEXT PRIMARY KEY, created TEXT NOT NULL, state TEXT NOT NULL,
       jurisdiction TEXT, region TEXT, told INTEGER NOT NULL DEFAULT 0, suspended INTEGER NOT NULL DEFAULT 0,
       placed INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID`,
    // Tenants whose placement is not in KV yet.
    "CREATE INDEX unplaced_tenants ON tenants (id) WHERE placed = 0 AND state = 'active'",
    // `basis`: the newest revision of the tenant that a claim rests on. `open`: how many claims rest on it and were not
    // withdrawn. `claimed`: when the last one was made.
    `CREATE TABLE hostnames (hostname TEXT PRIMARY KEY, tenant TEXT NOT NULL, created TEXT NOT NULL, basis INTEGER NOT NULL DEFAULT 0,
       open INTEGER NOT NULL DEFAULT 0, claimed INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID`,
    "CREATE TABLE declared (id TEXT PRIMARY KEY) WITHOUT ROWID",
    // The blocks of every tenant. A tenant that is created meanwhile gets them from here.
    "CREATE TABLE blocks (one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER NOT NULL, list TEXT NOT NULL)",
    "INSERT INTO blocks (one, version, list) VALUES (1, 0, '[]')",
  ],
};
