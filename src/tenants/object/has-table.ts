// Whether an object stores a table. An object in which no tenant was created has none.

export function hasTable(sql: SqlStorage, name: string): boolean {
  return sql.exec("SELECT 1 FROM sqlite_master WHERE name = ?", name).toArray().length > 0;
}
