// Owns full-text search over a tenant's resources: what is found, in which order, and how many rows one search reads.
// Nothing that a caller does not see has a part in the answer, nor in its cost, as far as the index tells it apart.

import type { Patterns } from "../../tenants/document/tenant-document.ts";
import { fromStored, type ResourceRow, type StoredRow } from "./resource-row.ts";
import type { TableHost } from "../../tenants/authority/tables.ts";
import { placedView } from "./placed-views.ts";
import { placesSeen, type Places } from "./seen-places.ts";
import { isSeen } from "./seen-ranges.ts";
import { isEarlierIndexLeft } from "./text-index.ts";

export interface SearchQuery {
  /** As FTS5 reads it. */
  readonly match: string;
  readonly prefix: string;
  readonly limit: number;
  /** What a caller sees who does not see everything. */
  readonly only?: readonly Patterns[];
}

export type Found = ResourceRow & { readonly score: number };

/** Of all that matches, the newest so many are ranked: a word that is everywhere must not hold up the object. */
const MAX_RANKED = 5000;

/** Where the index lets hidden texts pass, as until a view is placed, so many are looked at of those that have the words in one place. */
const MAX_LOOKED_AT = 3000;

/** Where the words are, best first: bm25 would count how often hidden texts have them, too. */
const PLACES = ["title", "tags", "title tags body"] as const;

/** While texts move out of the earlier index, which knows no places, each is in one of the two. */
interface TextIndex {
  readonly table: string;
  readonly places: Places;
}

export function search(host: TableHost, query: SearchQuery): readonly Found[] {
  const { sql } = host;
  const view = query.only && placedView(host, query.only);
  // What it hides has its word, as far as it is placed: then nothing else need be asked.
  const places = placesSeen(query.prefix, view?.upto === 0 ? [] : (query.only ?? []), view?.id);
  const indexes: TextIndex[] = [{ table: "resource_words", places }];
  if (isEarlierIndexLeft(sql)) {
    indexes.push({ table: "resource_text", places: { among: (match) => match, isExact: false } });
  }
  if (query.only !== undefined) return searchSeen(sql, query, indexes);
  return indexes
    .flatMap((index) => ranked(sql, query, index, Math.floor(MAX_RANKED / indexes.length)))
    .toSorted((a, b) => b.score - a.score)
    .slice(0, query.limit);
}

function ranked(
  sql: SqlStorage,
  { match, prefix, limit }: SearchQuery,
  { table, places }: TextIndex,
  most: number,
): Found[] {
  if (!places.among) return [];
  const found = sql
    .exec<{ id: number; score: number }>(
      `SELECT rowid AS id, bm25(${table}, 8.0, 4.0, 1.0, 0.0) AS score FROM ${table}
        WHERE ${table} MATCH ? ORDER BY rowid DESC LIMIT ?`,
      places.among(`{title tags body} : (${match})`),
      most,
    )
    .toArray()
    .toSorted((a, b) => a.score - b.score);
  const rows: Found[] = [];
  for (const { id, score } of found) {
    if (rows.length >= limit) break;
    const row = rowOf(sql, id);
    if (row?.uri.startsWith(prefix)) rows.push({ ...row, score: -score });
  }
  return rows;
}

function searchSeen(sql: SqlStorage, query: SearchQuery, indexes: readonly TextIndex[]): Found[] {
  const found = new Map<number, Found>();
  for (const [at, columns] of PLACES.entries()) {
    for (const { table, places } of indexes) {
      const match = places.among?.(`{${columns}} : (${query.match})`);
      // What was found in a better place is found again.
      const most = places.isExact ? query.limit + found.size : Math.floor(MAX_LOOKED_AT / indexes.length);
      if (match !== undefined) look(sql, query, { table, match, most, score: PLACES.length - at }, found);
    }
  }
  return [...found.values()];
}

interface Look {
  readonly table: string;
  readonly match: string;
  readonly most: number;
  readonly score: number;
}

/** Adds the newest to what was found. */
function look(
  sql: SqlStorage,
  { prefix, limit, only = [] }: SearchQuery,
  { table, match, most, score }: Look,
  found: Map<number, Found>,
): void {
  const newest = sql.exec<{ id: number }>(
    `SELECT rowid AS id FROM ${table} WHERE ${table} MATCH ? ORDER BY rowid DESC LIMIT ?`,
    match,
    most,
  );
  for (const { id } of newest) {
    if (found.size >= limit) return;
    if (found.has(id)) continue;
    const row = rowOf(sql, id);
    if (row?.uri.startsWith(prefix) && isSeen(row.uri, only)) found.set(id, { ...row, score });
  }
}

function rowOf(sql: SqlStorage, id: number): ResourceRow | undefined {
  return sql.exec<StoredRow>("SELECT * FROM resources WHERE id = ?", id).toArray().map(fromStored)[0];
}
