// Full-text search over a tenant's resources. Hidden resources may slow a search down, but do not influence its result.

import type { Patterns } from "../tenants/document/tenant-document.ts";
import { createVisibilityCheck } from "./pattern-budget.ts";
import { toResourceRow, type ResourceRow, type StoredRow } from "./resource-row.ts";
import { prefixEnd, visibleRanges, type UriRange } from "./visible-ranges.ts";

export interface SearchQuery {
  /** In FTS5 syntax. */
  readonly match: string;
  readonly prefix: string;
  readonly limit: number;
  /** Patterns of the visible resources, for a caller who does not see everything. */
  readonly only?: readonly Patterns[];
}

export type SearchHit = ResourceRow & { readonly score: number };

/** Only this many of the newest matches are ranked: a very common word must not block the object. */
const MAX_RANKED = 5000;

/** Ranks by the columns that match, best first. bm25 would reveal how often hidden texts have the words. */
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
