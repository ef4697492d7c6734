// The sections that a tenant's lease names, each with the hash of its body. section-store.ts has the bodies.

import type { Sections } from "./policy-records.ts";
import type { Store } from "./store.ts";

export const sectionHashStore: Store = {
  name: "section-rows",
  methods: {},
  migrations: ["CREATE TABLE sections (name TEXT PRIMARY KEY, hash TEXT NOT NULL) WITHOUT ROWID"],
  open: () => ({ methods: {} }),
};

export function sectionsIn(sql: SqlStorage): Sections {
  return sql
    .exec<{ name: string; hash: string }>("SELECT name, hash FROM sections ORDER BY name")
    .toArray()
    .map(({ name, hash }) => [name, hash]);
}

/** `hash` null removes the section. Returns false if nothing changed. */
export function setSection(sql: SqlStorage, name: string, hash: string | null): boolean {
  const before = sectionHash(sql, name);
  if (before === hash) return false;
  if (hash === null) sql.exec("DELETE FROM sections WHERE name = ?", name);
  else sql.exec("INSERT OR REPLACE INTO sections (name, hash) VALUES (?, ?)", name, hash);
  return true;
}

/** null: there is no such section. */
export function sectionHash(sql: SqlStorage, name: string): string | null {
  return sql.exec<{ hash: string }>("SELECT hash FROM sections WHERE name = ?", name).toArray()[0]?.hash ?? null;
}
