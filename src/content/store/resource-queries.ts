// Owns reading a tenant's resource index: lists, full-text search and tags, each within a range of URIs.

import { fromStored, type ResourceRow, type StoredRow } from "./resource-row.ts";

export interface QueryMethods {
  /** Rows whose URI begins with `prefix` and comes after `after`, in the order of URIs; `tag` null: with any tags. */
  list(range: { prefix: string; tag: string | null; after: string | null; limit: number }): readonly ResourceRow[];
  /** `match` is an expression of SQLite's FTS5. The best match first, with the largest score. */
  search(query: { match: string; prefix: string; limit: number }): readonly (ResourceRow & { score: number })[];
  /** The 1000 most used tags of resources whose URI begins with `prefix`. */
  tags(prefix: string): readonly { tag: string; count: number }[];
  uris(prefix: string, limit: number): readonly string[];
}

export function createQueryMethods(sql: SqlStorage): QueryMethods {
  return {
    list: (range) => list(sql, range),
    search: ({ match, prefix, limit }) =>
      sql
        .exec<StoredRow & { score: number }>(
          `SELECT resources.*, bm25(resource_text, 8.0, 4.0, 1.0) AS score FROM resource_text
             JOIN resources ON resources.id = resource_text.rowid
            WHERE resource_text MATCH ? AND resources.uri >= ? AND resources.uri < ?
            ORDER BY score LIMIT ?`,
          match,
          prefix,
          afterPrefix(prefix),
          limit,
        )
        .toArray()
        .map((row) => ({ ...fromStored(row), score: -row.score })),
    tags: (prefix) =>
      sql
        .exec<{ tag: string; count: number }>(
          `SELECT tag, count(*) AS count FROM resource_tags WHERE uri >= ? AND uri < ?
            GROUP BY tag ORDER BY count DESC, tag LIMIT 1000`,
          prefix,
          afterPrefix(prefix),
        )
        .toArray(),
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
