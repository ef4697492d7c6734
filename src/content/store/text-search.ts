// Full-text search over a tenant's resources. What a caller does not see is passed by: it may make a search slower, and has no
// part in its answer.

import type { Patterns } from "../../tenants/document/tenant-document.ts";
import { boundedSight } from "./pattern-work.ts";
import { fromStored, type ResourceRow, type StoredRow } from "./resource-row.ts";
import { afterPrefix, seenRanges, type UriRange } from "./seen-ranges.ts";

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

/** Where the words are, best first: bm25 would count how often hidden texts have them, too. */
const COLUMNS = ["title", "tags", "title tags body"] as const;

const MATCHES = `FROM resource_words CROSS JOIN resources ON resources.id = resource_words.rowid
  WHERE resource_words MATCH ? AND uri >= ? AND uri < ? ORDER BY resource_words.rowid DESC`;

export function search(sql: SqlStorage, query: SearchQuery): readonly Found[] {
  return query.only === undefined ? ranked(sql, query) : searchSeen(sql, query, query.only);
}

function ranked(sql: SqlStorage, { match, prefix, limit }: SearchQuery): Found[] {
  const query = `SELECT resources.id, bm25(resource_words, 8.0, 4.0, 1.0) AS score ${MATCHES} LIMIT ${MAX_RANKED}`;
  return sql
    .exec<{ id: number; score: number }>(query, match, prefix, afterPrefix(prefix))
    .toArray()
    .toSorted((a, b) => a.score - b.score)
    .slice(0, limit)
    .flatMap(({ id, score }) => rowOf(sql, id, -score));
}

function searchSeen(sql: SqlStorage, { match, prefix, limit }: SearchQuery, only: readonly Patterns[]): Found[] {
  const ranges = seenRanges([prefix, afterPrefix(prefix)], only);
  const [first, last] = [ranges[0], ranges.at(-1)];
  if (!first || !last) return [];
  const found = new Map<number, number>();
  const sees = boundedSight(only);
  for (const [at, columns] of COLUMNS.entries()) {
    for (const { id, uri } of matches(sql, `{${columns}} : (${match})`, [first[0], last[1]])) {
      const isShown = found.size < limit ? sees(uri) : undefined;
      if (isShown === undefined) break;
      if (isShown && !found.has(id)) found.set(id, COLUMNS.length - at);
    }
  }
  return [...found].flatMap(([id, score]) => rowOf(sql, id, score));
}

/** The newest first. */
function matches(sql: SqlStorage, match: string, range: UriRange) {
  return sql.exec<{ id: number; uri: string }>(`SELECT resources.id, uri ${MATCHES}`, match, ...range);
}

function rowOf(sql: SqlStorage, id: number, score: number): Found[] {
  const rows = sql.exec<StoredRow>("SELECT * FROM resources WHERE id = ?", id).toArray();
  return rows.map((row) => ({ ...fromStored(row), score }));
}
