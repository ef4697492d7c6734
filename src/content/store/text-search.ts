// Owns full-text search over a tenant's resources: what is found, in which order, and how many rows one search reads.
// Nothing that a caller does not see has a part in the answer, nor in its cost, as far as the index tells it apart.

import type { Patterns } from "../../tenants/document/tenant-document.ts";
import { fromStored, type ResourceRow, type StoredRow } from "./resource-row.ts";
import type { TableHost } from "../../tenants/authority/tables.ts";
import { boundedSight } from "./pattern-work.ts";
import { placedView } from "./placed-views.ts";
import { placesSeen, type Places } from "./seen-places.ts";

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

export function search(host: TableHost, query: SearchQuery): readonly Found[] {
  const { sql } = host;
  const view = query.only && placedView(host, query.only);
  // What it hides has its word, as far as it is placed: then nothing else need be asked.
  const places = placesSeen(query.prefix, view?.upto === 0 ? [] : (query.only ?? []), view?.id);
  return query.only === undefined ? ranked(sql, query, places) : searchSeen(sql, query, places);
}

function ranked(sql: SqlStorage, { match, prefix, limit }: SearchQuery, places: Places): Found[] {
  if (!places.among) return [];
  const found = sql
    .exec<{ id: number; score: number }>(
      `SELECT rowid AS id, bm25(resource_words, 8.0, 4.0, 1.0, 0.0) AS score FROM resource_words
        WHERE resource_words MATCH ? ORDER BY rowid DESC LIMIT ?`,
      places.among(`{title tags body} : (${match})`),
      MAX_RANKED,
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

function searchSeen(sql: SqlStorage, query: SearchQuery, places: Places): Found[] {
  const found = new Map<number, Found>();
  const sees = boundedSight(query.only ?? []);
  for (const [at, columns] of PLACES.entries()) {
    const match = places.among?.(`{${columns}} : (${query.match})`);
    // What was found in a better place is found again.
    const most = places.isExact ? query.limit + found.size : MAX_LOOKED_AT;
    if (match !== undefined) look(sql, query, { match, most, score: PLACES.length - at, sees }, found);
  }
  return [...found.values()];
}

interface Look {
  readonly match: string;
  readonly most: number;
  readonly score: number;
  readonly sees: ReturnType<typeof boundedSight>;
}

/** Adds the newest to what was found, as far as the patterns allow. */
function look(
  sql: SqlStorage,
  { prefix, limit }: SearchQuery,
  { match, most, score, sees }: Look,
  found: Map<number, Found>,
): void {
  const newest = sql.exec<{ id: number }>(
    "SELECT rowid AS id FROM resource_words WHERE resource_words MATCH ? ORDER BY rowid DESC LIMIT ?",
    match,
    most,
  );
  for (const { id } of newest) {
    if (found.size >= limit) return;
    if (found.has(id)) continue;
    const row = rowOf(sql, id);
    if (!row?.uri.startsWith(prefix)) continue;
    const isShown = sees(row.uri);
    if (isShown === undefined) return;
    if (isShown) found.set(id, { ...row, score });
  }
}

function rowOf(sql: SqlStorage, id: number): ResourceRow | undefined {
  return sql.exec<StoredRow>("SELECT * FROM resources WHERE id = ?", id).toArray().map(fromStored)[0];
}
