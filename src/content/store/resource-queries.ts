// Owns reading a tenant's resource index within a range of URIs: lists and tags.

import type { Patterns } from "../../tenants/document/tenant-document.ts";
import type { TableHost } from "../../tenants/authority/tables.ts";
import { placedView, tagKey } from "./placed-views.ts";
import { fromStored, type ResourceRow, type StoredRow } from "./resource-row.ts";
import { afterPrefix, isSeen, seenRanges, type UriRange } from "./seen-ranges.ts";
import { search, type Found, type SearchQuery } from "./text-search.ts";

/** Where a range has hidden things in it: how many rows are read at once, and how many at most in one call. */
const FURTHER = 1000;
const MAX_PASSED_BY = 5000;

export interface ListQuery {
  readonly prefix: string;
  readonly tag: string | null;
  readonly after: string | null;
  readonly limit: number;
}

export interface QueryMethods {
  /** Rows whose URI begins with `prefix` and comes after `after`, in the order of URIs; `tag` null: with any tags. */
  list(range: ListQuery): readonly ResourceRow[];
  /** The same of what a caller sees. `next`: fewer than the limit were found up to this URI, which may be hidden. */
  listSeen(
    range: ListQuery,
    only: readonly Patterns[],
  ): { readonly rows: readonly ResourceRow[]; readonly next: string | null };
  /** Best first, with the largest score. */
  search(query: SearchQuery): readonly Found[];
  tags(prefix: string, only?: readonly Patterns[]): readonly { tag: string; count: number }[];
  uris(prefix: string, limit: number): readonly string[];
}

export function createQueryMethods(host: TableHost): QueryMethods {
  const { sql } = host;
  return {
    list: (range) => list(sql, range),
    listSeen: (range, only) => listSeen(host, range, only),
    search: (query) => search(host, query),
    tags: (prefix, only) => (only === undefined ? tagsOf(sql, prefix) : tagsSeen(host, prefix, only)),
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

function list(sql: SqlStorage, { prefix, tag, after, limit }: ListQuery): readonly ResourceRow[] {
  return rowsIn(sql, tag, [startOf(prefix, after), afterPrefix(prefix)], limit);
}

function startOf(prefix: string, after: string | null): string {
  return after === null || after < prefix ? prefix : behind(after);
}

const behind = (uri: string) => `${uri}\u0000`;

function rowsIn(sql: SqlStorage, tag: string | null, [from, to]: UriRange, limit: number): ResourceRow[] {
  const source =
    tag === null
      ? sql.exec<StoredRow>("SELECT * FROM resources WHERE uri >= ? AND uri < ? ORDER BY uri LIMIT ?", from, to, limit)
      : sql.exec<StoredRow>(
          `SELECT resources.* FROM resource_tags JOIN resources ON resources.uri = resource_tags.uri
            WHERE resource_tags.tag = ? AND resource_tags.uri >= ? AND resource_tags.uri < ?
            ORDER BY resource_tags.uri LIMIT ?`,
          tag,
          from,
          to,
          limit,
        );
  return source.toArray().map(fromStored);
}

function listSeen(host: TableHost, range: ListQuery, only: readonly Patterns[]) {
  const view = placedView(host, only);
  return view === undefined ? listPassing(host.sql, range, only) : listPlaced(host.sql, range, { view, only });
}

interface Placed {
  readonly view: number;
  readonly only: readonly Patterns[];
}

/** The view has rows of its own. */
function listPlaced(sql: SqlStorage, { prefix, tag, after, limit }: ListQuery, { view, only }: Placed) {
  const [from, to] = [startOf(prefix, after), afterPrefix(prefix)];
  const rows = sql
    .exec<StoredRow>(
      `SELECT resources.* FROM view_uris CROSS JOIN resources ON resources.uri = view_uris.uri
        WHERE view_uris.view = ? AND view_uris.tag = ? AND view_uris.uri >= ? AND view_uris.uri < ?
        ORDER BY view_uris.uri LIMIT ?`,
      view,
      tagKey(tag),
      from,
      to,
      limit,
    )
    .toArray();
  return { rows: rows.map(fromStored).filter(({ uri }) => isSeen(uri, only)), next: null };
}

/** Where the patterns leave ranges in which everything is seen, no row is read that is not. */
function listPassing(sql: SqlStorage, { prefix, tag, after, limit }: ListQuery, only: readonly Patterns[]) {
  const rows: ResourceRow[] = [];
  let passed = 0;
  for (const [start, to] of seenRanges([startOf(prefix, after), afterPrefix(prefix)], only)) {
    for (let [from, more] = [start, true]; more;) {
      // A second look into a range means that something in it is hidden: then there may be much of that.
      const most = from === start ? limit - rows.length : FURTHER;
      const found = rowsIn(sql, tag, [from, to], most);
      passed += found.length;
      more = found.length === most;
      from = behind(found.at(-1)?.uri ?? from);
      rows.push(...found.filter(({ uri }) => isSeen(uri, only)));
      if (rows.length >= limit) return { rows: rows.slice(0, limit), next: null };
      if (more && passed >= MAX_PASSED_BY) return { rows, next: found.at(-1)?.uri ?? null };
    }
  }
  return { rows, next: null };
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

/** Counted over what is seen: tags of hidden things must not show. */
function tagsSeen(host: TableHost, prefix: string, only: readonly Patterns[]) {
  const { sql } = host;
  const view = placedView(host, only);
  if (view !== undefined) return tagsPlaced(sql, prefix, view);
  const counts = new Map<string, number>();
  const query = "SELECT uri, tags FROM resources WHERE uri >= ? AND uri < ?";
  for (const [from, to] of seenRanges([prefix, afterPrefix(prefix)], only)) {
    for (const { uri, tags } of sql.exec<{ uri: string; tags: string }>(query, from, to)) {
      if (!isSeen(uri, only)) continue;
      for (const tag of JSON.parse(tags) as string[]) counts.set(tag, (counts.get(tag) ?? 0) + 1);
    }
  }
  return mostFrequent([...counts].map(([tag, count]) => ({ tag, count })));
}

function tagsPlaced(sql: SqlStorage, prefix: string, view: number) {
  const query = `SELECT substr(tag, 2) AS tag, count(*) AS count FROM view_uris
                  WHERE view = ? AND tag > '' AND uri >= ? AND uri < ? GROUP BY tag`;
  return mostFrequent(sql.exec<{ tag: string; count: number }>(query, view, prefix, afterPrefix(prefix)).toArray());
}

function mostFrequent(tags: readonly { tag: string; count: number }[]) {
  return tags.toSorted((a, b) => b.count - a.count || (a.tag < b.tag ? -1 : 1)).slice(0, MAX_TAGS);
}
