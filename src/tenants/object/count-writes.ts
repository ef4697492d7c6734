// Owns how often an object's database may have been written: what was read of it holds as long as that does not change. Asking SQLite
// (`total_changes()`) would cost as much as reading a row.

import type { StoreHost } from "./store.ts";

/** What does not plainly read counts as a write, also where it fails or is undone. */
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
