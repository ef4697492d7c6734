// Owns the schema of a session's object, in versions: never edited once released.

export const SESSION_MIGRATIONS: readonly string[] = [
  `CREATE TABLE calls (key TEXT PRIMARY KEY, request TEXT NOT NULL, fallback TEXT NOT NULL, attempt INTEGER NOT NULL,
     memos TEXT NOT NULL, over INTEGER, shown INTEGER, parked INTEGER NOT NULL DEFAULT 0, lost INTEGER NOT NULL DEFAULT 0, said INTEGER NOT NULL, seq INTEGER NOT NULL, characters INTEGER NOT NULL, repeatable INTEGER NOT NULL) WITHOUT ROWID`,
  "CREATE TABLE events (call TEXT NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL, part TEXT NOT NULL, PRIMARY KEY (call, seq, at)) WITHOUT ROWID",
  "CREATE TABLE questions (id TEXT PRIMARY KEY, call TEXT NOT NULL, name TEXT NOT NULL, digest TEXT NOT NULL, seq INTEGER, answer TEXT) WITHOUT ROWID",
  "CREATE TABLE cancelled (request TEXT PRIMARY KEY, until INTEGER NOT NULL) WITHOUT ROWID",
  "CREATE TABLE subscriptions (uri TEXT PRIMARY KEY, asked TEXT NOT NULL) WITHOUT ROWID",
];
