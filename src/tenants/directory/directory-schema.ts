export const DIRECTORY_SCHEMA = {
  name: "directory",
  migrations: [
    `CREATE TABLE tenants (id TEXT PRIMARY KEY, created TEXT NOT NULL, state TEXT NOT NULL,
       jurisdiction TEXT, region TEXT, suspended_version INTEGER NOT NULL DEFAULT 0, suspended INTEGER NOT NULL DEFAULT 0,
       placement_in_kv INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID`,
    // Tenants whose placement is not in KV yet.
    "CREATE INDEX tenants_without_placement ON tenants (id) WHERE placement_in_kv = 0 AND state = 'active'",
    // `tenant_revision`: the newest revision of the tenant that a claim rests on. `open_claims`: how many claims rest
    // on it and were not withdrawn. `claimed_at`: when the last one was made.
    `CREATE TABLE hostnames (hostname TEXT PRIMARY KEY, tenant TEXT NOT NULL, created TEXT NOT NULL, tenant_revision INTEGER NOT NULL DEFAULT 0,
       open_claims INTEGER NOT NULL DEFAULT 0, claimed_at INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID`,
    "CREATE TABLE declared_tenants (id TEXT PRIMARY KEY) WITHOUT ROWID",
    // The blocks of every tenant. A tenant that is created meanwhile gets them from here.
    "CREATE TABLE block_list (one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER NOT NULL, list TEXT NOT NULL)",
    "INSERT INTO block_list (one, version, list) VALUES (1, 0, '[]')",
  ],
};
