// Reads a tenant's resource index within a range of URIs: lists and tags.

import type { Patterns } from "../tenants/document/tenant-document.ts";
import type { StoreHost } from "../tenants/object/store.ts";
import { createVisibilityCheck } from "./pattern-budget.ts";
import { toResourceRow, type ResourceRow, type StoredRow } from "./resource-row.ts";
import { prefixEnd, visibleRanges, type UriRange } from "./visible-ranges.ts";
import { searchText, type SearchHit, type SearchQuery } from "./text-search.ts";

/** For ranges with hidden resources: rows per read, and rows per call at most. */
const SCAN_BATCH = 1000;
const MAX_SCANNED = 5000;

export interface ListQuery {
  readonly prefix: string;
  readonly tag: string | null;
  readonly after: string | null;
  readonly limit: number;
}

export interface VisibleRows {
  readonly rows: readonly ResourceRow[];
  /** Set if fewer rows than the limit were found up to this URI, which may be hidden. */
  readonly next: string | null;
  /** The patterns are so many that continuing would take too long. */
  readonly isTooMuch?: true;
}

export interface QueryMethods {
  /** Rows whose URI begins with `prefix` and comes after `after`, in the order of URIs. `tag` null: with any tags. */
  list(range: ListQuery): readonly ResourceRow[];
  /** Like `list`, for the visible rows only. */
  listVisible(range: ListQuery, only: readonly Patterns[]): VisibleRows;
  /** The best match first, with the highest score. */
  search(query: SearchQuery): readonly SearchHit[];
  tags(prefix: string, only?: readonly Patterns[]): readonly { tag: string; count: number }[];
  uris(prefix: string, limit: number): readonly string[];
  /** The given URIs that are stored. */
  stored(uris: readonly string[]): readonly string[];
}

export function createQueryMethods(host: StoreHost): QueryMethods {
  const { sql } = host;
  return {
    list: (range) => listVisibleRows(sql, range, []).rows,
    listVisible: (range, only) => listVisibleRows(sql, range, only),
    search: (query) => searchText(sql, query),
    tags: (prefix, only) => (only === undefined ? countTags(sql, prefix) : countVisibleTags(sql, prefix, only)),
    uris: (prefix, limit) =>
      sql
        .exec<{ uri: string }>(
          "SELECT uri FROM resources WHERE uri >= ? AND uri < ? ORDER BY uri LIMIT ?",
          prefix,
          prefixEnd(prefix),
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

function rangeStartOf(prefix: string, after: string | null): string {
  return after === null || after < prefix ? prefix : justAfter(after);
}

const justAfter = (uri: string) => `${uri}\u0000`;

/** `tag` null: with any tags. */
function readRange(sql: SqlStorage, tag: string | null, [from, to]: UriRange, limit: number) {
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

/** Where the patterns leave only fully visible ranges, no hidden row is read. */
function listVisibleRows(
  sql: SqlStorage,
  { prefix, tag, after, limit }: ListQuery,
  only: readonly Patterns[],
): VisibleRows {
  const rows: ResourceRow[] = [];
  const isVisible = createVisibilityCheck(only);
  let scanned = 0;
  let last: string | null = null;
  for (const [start, to] of visibleRanges([rangeStartOf(prefix, after), prefixEnd(prefix)], only)) {
    for (let [from, more] = [start, true]; more;) {
      // A second read in a range means that something in it is hidden, and there may be much of it.
      const batch = from === start ? limit - rows.length : SCAN_BATCH;
      const found = readRange(sql, tag, [from, to], batch).toArray().map(toResourceRow);
      more = found.length === batch;
      from = justAfter(found.at(-1)?.uri ?? from);
      const visibility = found.map(({ uri }) => isVisible(uri));
      const budgetEnd = visibility.indexOf(undefined);
      const checked = budgetEnd < 0 ? found : found.slice(0, budgetEnd);
      scanned += checked.length;
      last = checked.at(-1)?.uri ?? last;
      rows.push(...checked.filter((_row, at) => visibility[at]));
      if (rows.length >= limit) return { rows: rows.slice(0, limit), next: null };
      if (budgetEnd >= 0 && scanned < SCAN_BATCH) return { rows, next: null, isTooMuch: true };
      if (budgetEnd >= 0 || (more && scanned >= MAX_SCANNED)) return { rows, next: last };
    }
  }
  return { rows, next: null };
}

const MAX_TAGS = 1000;

function countTags(sql: SqlStorage, prefix: string) {
  return sql
    .exec<{ tag: string; count: number }>(
      `SELECT tag, count(*) AS count FROM resource_tags WHERE uri >= ? AND uri < ?
        GROUP BY tag ORDER BY count DESC, tag LIMIT ${MAX_TAGS}`,
      prefix,
      prefixEnd(prefix),
    )
    .toArray();
}

/** Counts visible resources only, as far as the pattern budget allows: tags of hidden resources must not leak. */
function countVisibleTags(sql: SqlStorage, prefix: string, only: readonly Patterns[]) {
  const counts = new Map<string, number>();
  const isVisible = createVisibilityCheck(only);
  for (const range of visibleRanges([prefix, prefixEnd(prefix)], only)) {
    for (const { uri, tags } of readRange(sql, null, range, -1)) {
      const isTagVisible = isVisible(uri);
      if (isTagVisible === undefined) return sortByCount(counts);
      if (!isTagVisible) continue;
      for (const tag of JSON.parse(tags) as string[]) counts.set(tag, (counts.get(tag) ?? 0) + 1);
    }
  }
  return sortByCount(counts);
}

function sortByCount(counts: ReadonlyMap<string, number>) {
  return [...counts]
    .map(([tag, count]) => ({ tag, count }))
    .toSorted((a, b) => b.count - a.count || (a.tag < b.tag ? -1 : 1))
    .slice(0, MAX_TAGS);
}
