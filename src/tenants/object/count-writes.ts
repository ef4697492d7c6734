// Counts possible writes to an object's database. A value that was read holds while the count is unchanged. Asking
// SQLite (`total_changes()`) would cost as much as reading a row.

import type { StoreHost } from "./store.ts";

/** Every statement other than a plain SELECT counts as a write, even if it fails or is rolled back. */
export function countWrites(sql: SqlStorage): Pick<StoreHost, "sql" | "writes"> {
  let writes = 0;
  const exec = (query: string, ...bindings: unknown[]) => {
    if (!query.startsWith("SELECT")) writes += 1;
    return sql.exec(query, ...bindings);
  };
  const counted = new Proxy(sql, {
    get: (_target, member) => (member === "exec" ? exec : (Reflect.get(sql, member, sql) as unknown)),
  });
  return { sql: counted, writes: () => writes };
}
