// Owns how many resources a tenant has and how many bytes they take: one row, which the database keeps as rows come and
// go. Refuses to count them: every write asks, and counting reads every row.

export interface Totals {
  readonly resources: number;
  readonly bytes: number;
}

/** For the end of the migrations of whoever has the table of resources. Its rows come and go, and are never resized. */
export const totalsMigrations: readonly string[] = [
  "CREATE TABLE totals (one INTEGER PRIMARY KEY CHECK (one = 1), resources INTEGER NOT NULL, bytes INTEGER NOT NULL)",
  "INSERT INTO totals SELECT 1, count(*), coalesce(sum(size), 0) FROM resources",
  `CREATE TRIGGER resource_comes AFTER INSERT ON resources BEGIN
     UPDATE totals SET resources = resources + 1, bytes = bytes + new.size; END`,
  `CREATE TRIGGER resource_goes AFTER DELETE ON resources BEGIN
     UPDATE totals SET resources = resources - 1, bytes = bytes - old.size; END`,
];

export function totalsOf(sql: SqlStorage): Totals {
  return sql.exec<{ resources: number; bytes: number }>("SELECT resources, bytes FROM totals WHERE one = 1").one();
}
