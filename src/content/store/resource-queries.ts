// Owns reading a tenant's resource index: lists, full-text search and tags, each within a range of URIs.

import { matchesAny } from "../../tenants/document/glob.ts";
import type { Patterns } from "../../tenants/document/tenant-document.ts";
import { fromStored, type ResourceRow, type StoredRow } from "./resource-row.ts";

export interface SearchQuery {
  /** As FTS5 reads it. */
  readonly match: string;
  readonly prefix: string;
  readonly limit: number;
  readonly only?: readonly Patterns[];
}

/** Of all that matches, the newest so many are looked at: a word that is everywhere must not hold up the object. */
const MAX_LOOKED_AT = 5000;

export interface QueryMethods {
  /** Rows whose URI begins with `prefix` and comes after `after`, in the order of URIs; `tag` null: with any tags. */
  list(range: { prefix: string; tag: string | null; after: string | null; limit: number }): readonly ResourceRow[];
  /** `match` is an expression of SQLite's FTS5. The best match first, with the largest score. */
  /** Best first. `only`: what a caller sees who does not see everything; nothing of the rest has a part in the answer. */
  search(query: SearchQuery): readonly (ResourceRow & { score: number })[];
  tags(prefix: string, only?: readonly Patterns[]): readonly { tag: string; count: number }[];
  uris(prefix: string, limit: number): readonly string[];
}

export function createQueryMethods(sql: SqlStorage): QueryMethods {
  return {
    list: (range) => list(sql, range),
    search: (query) => (query.only === undefined ? searchAll(sql, query) : searchSeen(sql, query, query.only)),
    tags: (prefix, only) => (only === undefined ? tagsOf(sql, prefix) : tagsSeen(sql, prefix, only)),
    uris: (prefix, limit) =>
      sql
        .exec<{ uri: string }>(
          "SELECT uri FROM resources WHERE uri >= ? AND uri < ? ORDER BY uri LIMIT ?",
          prefix,
          afterPrefix(prefix),
          limit,
        )
        .toArray()
        .map((row) => row.uri),
  };
}

/** The end of the range of URIs with this prefix: they have only characters of ASCII that sort before DEL. */
function afterPrefix(prefix: string): string {
  return `${prefix}\u007f`;
}

function list(
  sql: SqlStorage,
  { prefix, tag, after, limit }: Parameters<QueryMethods["list"]>[0],
): readonly ResourceRow[] {
  const from = after === null || after < prefix ? prefix : `${after}\u0000`;
  const source =
    tag === null
      ? sql.exec<StoredRow>(
          "SELECT * FROM resources WHERE uri >= ? AND uri < ? ORDER BY uri LIMIT ?",
          from,
          afterPrefix(prefix),
          limit,
        )
      : sql.exec<StoredRow>(
          `SELECT resources.* FROM resource_tags JOIN resources ON resources.uri = resource_tags.uri
            WHERE resource_tags.tag = ? AND resource_tags.uri >= ? AND resource_tags.uri < ?
            ORDER BY resource_tags.uri LIMIT ?`,
          tag,
          from,
          afterPrefix(prefix),
          limit,
        );
  return source.toArray().map(fromStored);
}

function searchAll(sql: SqlStorage, { match, prefix, limit }: SearchQuery) {
  return sql
    .exec<StoredRow & { score: number }>(
      `SELECT resources.*, found.score FROM
         (SELECT rowid AS id, bm25(resource_text, 8.0, 4.0, 1.0) AS score FROM resource_text
           WHERE resource_text MATCH ? ORDER BY rowid DESC LIMIT ${MAX_LOOKED_AT}) AS found
         JOIN resources ON resources.id = found.id
        WHERE resources.uri >= ? AND resources.uri < ? ORDER BY found.score LIMIT ?`,
      match,
      prefix,
      afterPrefix(prefix),
      limit,
    )
    .toArray()
    .map((row) => ({ ...fromStored(row), score: -row.score }));
}

/** Where the words are, best first: bm25 would count how often hidden texts have them, too. */
const PLACES = ["{title} : ", "{tags} : ", ""] as const;

function searchSeen(sql: SqlStorage, { match, prefix, limit }: SearchQuery, only: readonly Patterns[]) {
  const found = new Map<string, ResourceRow & { score: number }>();
  for (const [at, place] of PLACES.entries()) {
    const rows = sql.exec<StoredRow>(
      `SELECT resources.* FROM
         (SELECT rowid AS id FROM resource_text WHERE resource_text MATCH ? ORDER BY rowid DESC LIMIT ${MAX_LOOKED_AT})
           AS found
         JOIN resources ON resources.id = found.id
        WHERE resources.uri >= ? AND resources.uri < ? ORDER BY resources.id DESC`,
      `${place}(${match})`,
      prefix,
      afterPrefix(prefix),
    );
    for (const row of rows) {
      if (found.size >= limit) return [...found.values()];
      if (isSeen(row.uri, only) && !found.has(row.uri)) {
        found.set(row.uri, { ...fromStored(row), score: PLACES.length - at });
      }
    }
  }
  return [...found.values()];
}

function isSeen(uri: string, only: readonly Patterns[]): boolean {
  return only.every(({ allow, deny }) => matchesAny(uri, allow) && !(deny && matchesAny(uri, deny)));
}

const MAX_TAGS = 1000;

function tagsOf(sql: SqlStorage, prefix: string) {
  return sql
    .exec<{ tag: string; count: number }>(
      `SELECT tag, count(*) AS count FROM resource_tags WHERE uri >= ? AND uri < ?
        GROUP BY tag ORDER BY count DESC, tag LIMIT ${MAX_TAGS}`,
      prefix,
      afterPrefix(prefix),
    )
    .toArray();
}

/** Counted over what is seen, in one pass: tags of hidden things must not show. */
function tagsSeen(sql: SqlStorage, prefix: string, only: readonly Patterns[]) {
  const counts = new Map<string, number>();
  const rows = sql.exec<{ tag: string; uri: string }>(
    "SELECT tag, uri FROM resource_tags WHERE uri >= ? AND uri < ?",
    prefix,
    afterPrefix(prefix),
  );
  for (const { tag, uri } of rows) if (isSeen(uri, only)) counts.set(tag, (counts.get(tag) ?? 0) + 1);
  return [...counts]
    .map(([tag, count]) => ({ tag, count }))
    .toSorted((a, b) => b.count - a.count || (a.tag < b.tag ? -1 : 1))
    .slice(0, MAX_TAGS);
}
