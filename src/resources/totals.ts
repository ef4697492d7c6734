// The number of a tenant's resources and their bytes, in one row that triggers keep up to date. Every write needs them,
// and counting would read every row.

export interface Totals {
  readonly resources: number;
  readonly bytes: number;
}

/**
 * Goes after the migration that creates the table of resources. The triggers cover inserts and deletes: no row is ever
 * resized.
 */
export const totalsMigrations: readonly string[] = [
  "CREATE TABLE totals (one INTEGER PRIMARY KEY CHECK (one = 1), resources INTEGER NOT NULL, bytes INTEGER NOT NULL)",
  "INSERT INTO totals SELECT 1, count(*), coalesce(sum(size), 0) FROM resources",
  `CREATE TRIGGER resource_insert AFTER INSERT ON resources BEGIN
     UPDATE totals SET resources = resources + 1, bytes = bytes + new.size; END`,
  `CREATE TRIGGER resource_delete AFTER DELETE ON resources BEGIN
     UPDATE totals SET resources = resources - 1, bytes = bytes - old.size; END`,
];

export function totalsOf(sql: SqlStorage): Totals {
  return sql.exec<{ resources: number; bytes: number }>("SELECT resources, bytes FROM totals WHERE one = 1").one();
}
