// Owns reading a tenant's resource index within a range of URIs: lists and tags.

import type { Patterns } from "../../tenants/document/tenant-document.ts";
import type { TableHost } from "../../tenants/authority/tables.ts";
import { boundedSight } from "./pattern-work.ts";
import { fromStored, type ResourceRow, type StoredRow } from "./resource-row.ts";
import { afterPrefix, seenRanges, type UriRange } from "./seen-ranges.ts";
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

export interface SeenRows {
  readonly rows: readonly ResourceRow[];
  /** Fewer than the limit were found up to this URI, which may be hidden. */
  readonly next: string | null;
  /** The patterns are so many that going on would take long. */
  readonly isTooMuch?: true;
}

export interface QueryMethods {
  /** Rows whose URI begins with `prefix` and comes after `after`, in the order of URIs; `tag` null: with any tags. */
  list(range: ListQuery): readonly ResourceRow[];
  /** The same of what a caller sees. */
  listSeen(range: ListQuery, only: readonly Patterns[]): SeenRows;
  /** Best first, with the largest score. */
  search(query: SearchQuery): readonly Found[];
  tags(prefix: string, only?: readonly Patterns[]): readonly { tag: string; count: number }[];
  uris(prefix: string, limit: number): readonly string[];
  /** Those of them that are stored. */
  stored(uris: readonly string[]): readonly string[];
}

export function createQueryMethods(host: TableHost): QueryMethods {
  const { sql } = host;
  return {
    list: (range) => listSeen(sql, range, []).rows,
    listSeen: (range, only) => listSeen(sql, range, only),
    search: (query) => search(sql, query),
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
    stored: (uris) =>
      sql
        .exec<{ uri: string }>(
          "SELECT uri FROM resources WHERE uri IN (SELECT value FROM json_each(?))",
          JSON.stringify(uris),
        )
        .toArray()
        .map((row) => row.uri),
  };
}

function startOf(prefix: string, after: string | null): string {
  return after === null || after < prefix ? prefix : behind(after);
}

const behind = (uri: string) => `${uri}\u0000`;

/** `tag` null: with any tags. */
function read(sql: SqlStorage, tag: string | null, [from, to]: UriRange, limit: number) {
  return tag === null
    ? sql.exec<StoredRow>("SELECT * FROM resources WHERE uri >= ? AND uri < ? ORDER BY uri LIMIT ?", from, to, limit)
    : sql.exec<StoredRow>(
        `SELECT resources.* FROM resource_tags CROSS JOIN resources USING (uri) WHERE tag = ? AND uri >= ? AND uri < ?
          ORDER BY resource_tags.uri LIMIT ?`,
        tag,
        from,
        to,
        limit,
      );
}

/** Where the patterns leave ranges in which everything is seen, no row is read that is not. */
function listSeen(sql: SqlStorage, { prefix, tag, after, limit }: ListQuery, only: readonly Patterns[]): SeenRows {
  const rows: ResourceRow[] = [];
  const sees = boundedSight(only);
  let passed = 0;
  let last: string | null = null;
  for (const [start, to] of seenRanges([startOf(prefix, after), afterPrefix(prefix)], only)) {
    for (let [from, more] = [start, true]; more;) {
      // A second look into a range means that something in it is hidden: then there may be much of that.
      const most = from === start ? limit - rows.length : FURTHER;
      const found = read(sql, tag, [from, to], most).toArray().map(fromStored);
      more = found.length === most;
      from = behind(found.at(-1)?.uri ?? from);
      const shown = found.map(({ uri }) => sees(uri));
      const spent = shown.indexOf(undefined);
      const looked = spent < 0 ? found : found.slice(0, spent);
      passed += looked.length;
      last = looked.at(-1)?.uri ?? last;
      rows.push(...looked.filter((_row, at) => shown[at]));
      if (rows.length >= limit) return { rows: rows.slice(0, limit), next: null };
      if (spent >= 0 && passed < FURTHER) return { rows, next: null, isTooMuch: true };
      if (spent >= 0 || (more && passed >= MAX_PASSED_BY)) return { rows, next: last };
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

/** Counted over what is seen, as far as the patterns allow: tags of hidden things must not show. */
function tagsSeen(sql: SqlStorage, prefix: string, only: readonly Patterns[]) {
  const counts = new Map<string, number>();
  const sees = boundedSight(only);
  for (const range of seenRanges([prefix, afterPrefix(prefix)], only)) {
    for (const { uri, tags } of read(sql, null, range, -1)) {
      const isShown = sees(uri);
      if (isShown === undefined) return mostFirst(counts);
      if (!isShown) continue;
      for (const tag of JSON.parse(tags) as string[]) counts.set(tag, (counts.get(tag) ?? 0) + 1);
    }
  }
  return mostFirst(counts);
}

function mostFirst(counts: ReadonlyMap<string, number>) {
  return [...counts]
    .map(([tag, count]) => ({ tag, count }))
    .toSorted((a, b) => b.count - a.count || (a.tag < b.tag ? -1 : 1))
    .slice(0, MAX_TAGS);
}
