// Owns the resource index of a tenant: one row per URI, full-text search, tags, and which bodies in KV are in use.
// Bodies are not here, except small new ones for the minutes in which KV may not show them everywhere yet.

import type { Remote, TableHost, Tables } from "../tenants/tables.ts";

const MINUTE = 60_000;
/** A replaced body stays readable this long for who still holds its key. */
export const GARBAGE_GRACE_MS = 10 * MINUTE;
export const COPY_LIFETIME_MS = 5 * MINUTE;
const BATCH = 200;
/** In `collected.until`: the body is being deleted at this moment. */
const DELETING = Number.MAX_SAFE_INTEGER;

export interface ResourceRow {
  readonly uri: string;
  readonly name: string;
  readonly title: string | null;
  readonly description: string | null;
  readonly mimeType: string;
  readonly binary: boolean;
  /** Bytes. */
  readonly size: number;
  readonly hash: string;
  /** ISO 8601. */
  readonly lastModified: string;
  readonly audience: readonly string[] | null;
  readonly priority: number | null;
  readonly tags: readonly string[];
}

export interface PutResource {
  readonly row: Omit<ResourceRow, "lastModified"> & { readonly lastModified?: string };
  readonly searchText: string;
  /** The body itself when it is small. */
  readonly copy: ArrayBuffer | null;
  readonly ifAbsent: boolean;
  /** What the answer "resend" said last, when the body was uploaded once more because of it. */
  readonly resent: number | null;
}

export type PutResult =
  | { readonly state: "stored"; readonly lastModified: string }
  | { readonly state: "present"; readonly lastModified: string }
  /** The body was collected between its upload and now: upload again. */
  | { readonly state: "resend"; readonly collected: number };

export interface ContentMethods {
  put(resource: PutResource): PutResult;
  get(uri: string): ResourceRow | undefined;
  copy(hash: string): ArrayBuffer | undefined;
  remove(uri: string): boolean;
  /** In URI order, after `after`, each URI within [from, to). */
  list(range: { prefix: string; tag: string | null; after: string | null; limit: number }): readonly ResourceRow[];
  search(query: { match: string; prefix: string; limit: number }): readonly (ResourceRow & { score: number })[];
  tags(prefix: string): readonly { tag: string; count: number }[];
  uris(prefix: string, limit: number): readonly string[];
}

export type RemoteContent = Remote<ContentMethods>;

export const contentTables: Tables<ContentMethods> = {
  name: "content",
  migrations: [
    `CREATE TABLE resources (
       id INTEGER PRIMARY KEY, uri TEXT NOT NULL UNIQUE, name TEXT NOT NULL, title TEXT, description TEXT,
       mime_type TEXT NOT NULL, is_binary INTEGER NOT NULL, size INTEGER NOT NULL, hash TEXT NOT NULL,
       last_modified TEXT NOT NULL, audience TEXT, priority REAL, tags TEXT NOT NULL)`,
    "CREATE INDEX resources_by_hash ON resources (hash)",
    "CREATE TABLE resource_tags (tag TEXT NOT NULL, uri TEXT NOT NULL, PRIMARY KEY (tag, uri)) WITHOUT ROWID",
    `CREATE VIRTUAL TABLE resource_text USING fts5(
       title, tags, body, content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 2')`,
    "CREATE TABLE copies (hash TEXT PRIMARY KEY, body BLOB NOT NULL, until INTEGER NOT NULL)",
    "CREATE TABLE garbage (hash TEXT PRIMARY KEY, collect_at INTEGER NOT NULL)",
    "CREATE TABLE collected (hash TEXT PRIMARY KEY, until INTEGER NOT NULL)",
  ],
  open: (host) => ({ methods: methodsOf(host), alarm: (now) => collect(host, now) }),
};

/** The KV key of a body: per tenant and content, so that nothing about another tenant can be learnt or lost. */
export function bodyKey(tenant: string, hash: string): string {
  return `body/${tenant}/${hash}`;
}

interface StoredRow {
  [column: string]: SqlStorageValue;
  id: number;
  uri: string;
  name: string;
  title: string | null;
  description: string | null;
  mime_type: string;
  is_binary: number;
  size: number;
  hash: string;
  last_modified: string;
  audience: string | null;
  priority: number | null;
  tags: string;
}

function fromStored(row: StoredRow): ResourceRow {
  return {
    uri: row.uri,
    name: row.name,
    title: row.title,
    description: row.description,
    mimeType: row.mime_type,
    binary: row.is_binary === 1,
    size: row.size,
    hash: row.hash,
    lastModified: row.last_modified,
    audience: row.audience === null ? null : (JSON.parse(row.audience) as string[]),
    priority: row.priority,
    tags: JSON.parse(row.tags) as string[],
  };
}

function methodsOf(host: TableHost): ContentMethods {
  const { sql } = host;
  const find = (uri: string) => sql.exec<StoredRow>("SELECT * FROM resources WHERE uri = ?", uri).toArray()[0];
  return {
    put: (resource) => host.transaction(() => put(host, resource, find(resource.row.uri))),
    get: (uri) => {
      const row = find(uri);
      return row && fromStored(row);
    },
    copy: (hash) => sql.exec<{ body: ArrayBuffer }>("SELECT body FROM copies WHERE hash = ?", hash).toArray()[0]?.body,
    remove: (uri) =>
      host.transaction(() => {
        const row = find(uri);
        if (row) drop(host, row);
        return row !== undefined;
      }),
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

/** The end of the range of texts with this prefix: URIs are ASCII, so DEL sorts after all of them. */
function afterPrefix(prefix: string): string {
  return `${prefix}\u007f`;
}

function list(
  sql: SqlStorage,
  { prefix, tag, after, limit }: Parameters<ContentMethods["list"]>[0],
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

function put(host: TableHost, resource: PutResource, old: StoredRow | undefined): PutResult {
  const { sql } = host;
  const { row, searchText, copy, ifAbsent, resent } = resource;
  if (old && ifAbsent) {
    discard(host, row.hash);
    return { state: "present", lastModified: old.last_modified };
  }
  const now = host.now();
  const collected = collectedSince(sql, row.hash, resent);
  if (collected !== undefined) return { state: "resend", collected };
  if (old) drop(host, old);
  const lastModified = row.lastModified ?? new Date(now).toISOString();
  const { id } = sql
    .exec<{ id: number }>(
      `INSERT INTO resources (uri, name, title, description, mime_type, is_binary, size, hash, last_modified,
         audience, priority, tags) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`,
      row.uri,
      row.name,
      row.title,
      row.description,
      row.mimeType,
      row.binary ? 1 : 0,
      row.size,
      row.hash,
      lastModified,
      row.audience === null ? null : JSON.stringify(row.audience),
      row.priority,
      JSON.stringify(row.tags),
    )
    .one();
  for (const tag of row.tags) sql.exec("INSERT OR IGNORE INTO resource_tags (tag, uri) VALUES (?, ?)", tag, row.uri);
  sql.exec(
    "INSERT INTO resource_text (rowid, title, tags, body) VALUES (?, ?, ?, ?)",
    id,
    `${row.name} ${row.title ?? ""} ${row.description ?? ""}`,
    row.tags.join(" "),
    searchText,
  );
  sql.exec("DELETE FROM garbage WHERE hash = ?", row.hash);
  if (copy) {
    const until = onTheMinute(now + COPY_LIFETIME_MS);
    sql.exec("INSERT OR REPLACE INTO copies (hash, body, until) VALUES (?, ?, ?)", row.hash, copy, until);
    host.wakeAt(until);
  }
  return { state: "stored", lastModified };
}

/** Only an upload that began after the deletion had ended counts, whoever else was told to send again. */
function collectedSince(sql: SqlStorage, hash: string, resent: number | null): number | undefined {
  const [row] = sql.exec<{ until: number }>("SELECT until FROM collected WHERE hash = ?", hash).toArray();
  if (!row) return undefined;
  if (row.until === DELETING || row.until !== resent) return row.until;
  sql.exec("DELETE FROM collected WHERE hash = ?", hash);
  return undefined;
}

function drop(host: TableHost, row: StoredRow): void {
  const { sql } = host;
  sql.exec("DELETE FROM resource_text WHERE rowid = ?", row.id);
  for (const tag of JSON.parse(row.tags) as string[]) {
    sql.exec("DELETE FROM resource_tags WHERE tag = ? AND uri = ?", tag, row.uri);
  }
  sql.exec("DELETE FROM resources WHERE id = ?", row.id);
  discard(host, row.hash);
}

/** A body that no row names is deleted after the grace. */
function discard(host: TableHost, hash: string): void {
  const { sql } = host;
  if (sql.exec("SELECT 1 FROM resources WHERE hash = ? LIMIT 1", hash).toArray().length > 0) return;
  const at = onTheMinute(host.now() + GARBAGE_GRACE_MS);
  sql.exec("INSERT OR REPLACE INTO garbage (hash, collect_at) VALUES (?, ?)", hash, at);
  host.wakeAt(at);
}

/** Many writes share one alarm. */
function onTheMinute(time: number): number {
  return Math.ceil(time / MINUTE) * MINUTE;
}

/** Deletes bodies that nobody needs any more, some at a time. */
async function collect(host: TableHost, now: number): Promise<number | undefined> {
  const { sql } = host;
  sql.exec("DELETE FROM copies WHERE until <= ?", now);
  sql.exec("DELETE FROM collected WHERE until <= ?", now);
  const due = sql
    .exec<{ hash: string }>("SELECT hash FROM garbage WHERE collect_at <= ? LIMIT ?", now, BATCH)
    .toArray();
  const { BODIES } = host.env as { BODIES: KVNamespace };
  const mark = (hash: string, until: number) =>
    sql.exec("INSERT OR REPLACE INTO collected (hash, until) VALUES (?, ?)", hash, until);
  for (const { hash } of due) {
    // Asked again: while the body before it was deleted, a write may have taken this one into use.
    if (sql.exec("SELECT 1 FROM garbage WHERE hash = ?", hash).toArray().length === 0) continue;
    // Marked before the deletion: a write of the same content that comes in meanwhile is told to upload again.
    mark(hash, DELETING);
    try {
      await BODIES.delete(bodyKey(host.tenant, hash));
    } catch {
      // Not thrown: the runtime gives up an alarm after some failures, and with it everything that waits here.
      return now + MINUTE;
    }
    sql.exec("DELETE FROM garbage WHERE hash = ? AND collect_at <= ?", hash, now);
    mark(hash, onTheMinute(now + GARBAGE_GRACE_MS));
  }
  const next = sql
    .exec<{ at: number | null }>(
      `SELECT min(at) AS at FROM (SELECT min(collect_at) AS at FROM garbage UNION ALL SELECT min(until) FROM copies
         UNION ALL SELECT min(until) FROM collected)`,
    )
    .one().at;
  return next ?? undefined;
}
