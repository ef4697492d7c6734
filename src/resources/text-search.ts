// Full-text search over a tenant's resources. What a caller does not see is passed by: it may make a search slower, and has no
// part in its answer.

import type { Patterns } from "../tenants/document/tenant-document.ts";
import { createVisibilityCheck } from "./pattern-budget.ts";
import { toResourceRow, type ResourceRow, type StoredRow } from "./resource-row.ts";
import { prefixEnd, visibleRanges, type UriRange } from "./visible-ranges.ts";

export interface SearchQuery {
  /** As FTS5 reads it. */
  readonly match: string;
  readonly prefix: string;
  readonly limit: number;
  /** What a caller sees who does not see everything. */
  readonly only?: readonly Patterns[];
}

export type SearchHit = ResourceRow & { readonly score: number };

/** Of all that matches, the newest so many are ranked: a word that is everywhere must not hold up the object. */
const MAX_RANKED = 5000;

/** Where the words are, best first: bm25 would count how often hidden texts have them, too. */
const COLUMNS = ["title", "tags", "title tags body"] as const;

const MATCHES = `FROM resource_words CROSS JOIN resources ON resources.id = resource_words.rowid
  WHERE resource_words MATCH ? AND uri >= ? AND uri < ? ORDER BY resource_words.rowid DESC`;

export function searchText(sql: SqlStorage, query: SearchQuery): readonly SearchHit[] {
  return query.only === undefined ? searchRanked(sql, query) : searchVisible(sql, query, query.only);
}

function searchRanked(sql: SqlStorage, { match, prefix, limit }: SearchQuery): SearchHit[] {
  const query = `SELECT resources.id, bm25(resource_words, 8.0, 4.0, 1.0) AS score ${MATCHES} LIMIT ${MAX_RANKED}`;
  return sql
    .exec<{ id: number; score: number }>(query, match, prefix, prefixEnd(prefix))
    .toArray()
    .toSorted((a, b) => a.score - b.score)
    .slice(0, limit)
    .flatMap(({ id, score }) => readHit(sql, id, -score));
}

function searchVisible(sql: SqlStorage, { match, prefix, limit }: SearchQuery, only: readonly Patterns[]): SearchHit[] {
  const ranges = visibleRanges([prefix, prefixEnd(prefix)], only);
  const [first, last] = [ranges[0], ranges.at(-1)];
  if (!first || !last) return [];
  const scores = new Map<number, number>();
  const isVisible = createVisibilityCheck(only);
  for (const [at, columns] of COLUMNS.entries()) {
    for (const { id, uri } of matchRows(sql, `{${columns}} : (${match})`, [first[0], last[1]])) {
      const isHitVisible = scores.size < limit ? isVisible(uri) : undefined;
      if (isHitVisible === undefined) break;
      if (isHitVisible && !scores.has(id)) scores.set(id, COLUMNS.length - at);
    }
  }
  return [...scores].flatMap(([id, score]) => readHit(sql, id, score));
}

/** The newest first. */
function matchRows(sql: SqlStorage, match: string, range: UriRange) {
  return sql.exec<{ id: number; uri: string }>(`SELECT resources.id, uri ${MATCHES}`, match, ...range);
}

function readHit(sql: SqlStorage, id: number, score: number): SearchHit[] {
  const rows = sql.exec<StoredRow>("SELECT * FROM resources WHERE id = ?", id).toArray();
  return rows.map((row) => ({ ...toResourceRow(row), score }));
}
