// Owns the full-text index: how a resource gets into it and out of it, and moving out of the one of earlier releases, which
// did not know where a text is. Refuses to read bodies.

import { hidingWords } from "./placed-views.ts";
import { placeOf } from "./seen-places.ts";

/** Of a longer text, the beginning is indexed. */
export const MAX_SEARCH_CHARACTERS = 256 * 1024;

interface Worded {
  readonly uri: string;
  readonly name: string;
  readonly title: string | null;
  readonly description: string | null;
  readonly tags: readonly string[];
}

/** For the end of the migrations of whoever has the table of resources. What is indexed already is moved by alarms. */
export const textMigrations: readonly string[] = [
  `CREATE VIRTUAL TABLE resource_words USING fts5(
     title, tags, body, place, content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 2')`,
  "CREATE TABLE texts_unplaced (id INTEGER PRIMARY KEY)",
  "INSERT INTO texts_unplaced SELECT id FROM resources WHERE id > 0 AND id NOT IN (SELECT id FROM texts_due)",
];

export function indexText(
  sql: SqlStorage,
  id: number,
  { uri, name, title, description, tags }: Worded,
  text: string,
): void {
  sql.exec(
    "INSERT INTO resource_words (rowid, title, tags, body, place) VALUES (?, ?, ?, ?, ?)",
    id,
    `${name} ${title ?? ""} ${description ?? ""}`,
    tags.join(" "),
    text,
    placeOf(uri) + hidingWords(sql, uri),
  );
}

export function unindexText(sql: SqlStorage, id: number): void {
  // One that was taken over from an earlier release may not be in any index yet.
  const isDue = sql.exec("DELETE FROM texts_due WHERE id = ? RETURNING id", id).toArray().length > 0;
  if (!isDue && !leaveEarlierIndex(sql, id)) sql.exec("DELETE FROM resource_words WHERE rowid = ?", id);
}

/** Whether it was there. */
export function leaveEarlierIndex(sql: SqlStorage, id: number): boolean {
  const wasThere = sql.exec("DELETE FROM texts_unplaced WHERE id = ? RETURNING id", id).toArray().length > 0;
  if (wasThere) sql.exec("DELETE FROM resource_text WHERE rowid = ?", id);
  return wasThere;
}

export function isEarlierIndexLeft(sql: SqlStorage): boolean {
  return sql.exec("SELECT 1 FROM texts_unplaced WHERE id > 0 LIMIT 1").toArray().length > 0;
}

export function dropEarlierIndex(sql: SqlStorage): void {
  sql.exec("DROP TABLE IF EXISTS resource_text");
}
