// The resource index of a tenant, in its content object: one row per URI, full-text search, tags, and the bodies of KV
// in use. Bodies themselves are in KV. New ones are also here for the minutes in which KV may not have them everywhere:
// large ones in parts.

import { ceilToMinute } from "../tenants/object/body-garbage.ts";
import type { TenantUid } from "../tenants/object/tenant-uid.ts";
import type { RpcClient, StoreHost, Store } from "../tenants/object/store.ts";
import { auditEdit, matchesIfMatch, editRejection, type Edit, type EditRejection, type RemoveResult } from "./edit.ts";
import {
  collectGarbage,
  deletionOf,
  COPY_LIFETIME_MS,
  discardIfUnused,
  purgeBodies,
  purgeListedBodies,
} from "./garbage.ts";
import { totalsMigrations, totalsOf, type Totals } from "./totals.ts";
import { createQueryMethods, type QueryMethods } from "./resource-queries.ts";
import {
  etagOf,
  toResourceRow,
  isListingChanged,
  type NewRow,
  type ResourceRow,
  type StoredRow,
} from "./resource-row.ts";
import { indexText, textMigrations, unindexText } from "./text-index.ts";
import { storePart, partMigrations, readPart } from "./copy-parts.ts";
import { claimUpload, type UploadClaim } from "./upload-claims.ts";

export interface PutResource {
  readonly row: NewRow;
  readonly searchText: string;
  /** The body itself if it is small, to be read from here until KV has it everywhere; else null. */
  readonly copy: ArrayBuffer | null;
  readonly ifAbsent: boolean;
  /** Most resources that the tenant may have; null for no limit. */
  readonly maxResources: number | null;
  /** Most bytes that all of them may take; null for no limit. */
  readonly maxBytes?: number | null;
  /** The token of the last answer "resend", now that the body was uploaded again; null before. */
  readonly resendToken: number | null;
  /** Set for an operator's write, which may have conditions and is audited. */
  readonly edit?: Edit;
}

export type PutResult =
  | { readonly state: "stored"; readonly lastModified: string; readonly revision: number; readonly created: boolean }
  | { readonly state: "present"; readonly row: ResourceRow }
  /** The body was deleted from KV since its upload, or is being deleted: upload it again. */
  | { readonly state: "resend"; readonly resendToken: number }
  /** A limit is reached: the number of resources, their bytes ("storedBytes"), or the size of the object ("object"). */
  | { readonly state: "full"; readonly of?: "storedBytes" | "object" }
  | EditRejection;

export interface ContentMethods extends QueryMethods {
  put(resource: PutResource): PutResult;
  get(uri: string): ResourceRow | undefined;
  /** A small body that was stored in the last minutes. */
  readCopy(hash: string): ArrayBuffer | undefined;
  /** Returns whether the resource existed. */
  remove(uri: string): boolean;
  /** Claims the upload of a body. `by` identifies the attempt. */
  claimUpload(hash: string, by: string): UploadClaim;
  /**
   * Stores a part of a large body that was just uploaded, until KV has it everywhere. Returns false if there is no
   * room.
   */
  storePart(hash: string, at: number, part: ArrayBuffer): boolean;
  /** The part that begins at this byte. */
  readPart(hash: string, at: number): ArrayBuffer | undefined;
  /** An operator's removal: conditional and audited. */
  removeAs(uri: string, edit: Pick<Edit, "actor" | "ifMatch">): RemoveResult;
  usage(): Totals;
  /** The tenant is being deleted: rejects all later writes. */
  closeContent(uid: TenantUid): void;
  /** Deletes at most `limit` bodies from KV, as part of the tenant's deletion. `done`: none is left. */
  purge(limit: number): Promise<{ readonly done: boolean }>;
  /** Deletes everything that the object stores. */
  erase(): Promise<void>;
}

export type ContentRpc = RpcClient<ContentMethods>;

/** Half of the KV calls that one invocation may make. */
const SWEEP_BATCH = 500;

export const contentStore: Store<ContentMethods> = {
  name: "content",
  methods: {
    list: { idempotent: true },
    listVisible: { idempotent: true },
    search: { idempotent: true },
    tags: { idempotent: true },
    uris: { idempotent: true },
    stored: { idempotent: true },
    put: {},
    get: { idempotent: true },
    readCopy: { idempotent: true },
    remove: {},
    // Idempotent, because each attempt has its own id.
    claimUpload: { idempotent: true },
    storePart: {},
    readPart: { idempotent: true },
    removeAs: {},
    usage: { idempotent: true },
    closeContent: { idempotent: true, ending: true },
    purge: { idempotent: true, ending: true },
    erase: { idempotent: true, ending: true },
  },
  migrations: [
    `CREATE TABLE resources (
       id INTEGER PRIMARY KEY, uri TEXT NOT NULL UNIQUE, name TEXT NOT NULL, title TEXT, description TEXT,
       mime_type TEXT NOT NULL, is_binary INTEGER NOT NULL, size INTEGER NOT NULL, hash TEXT NOT NULL,
       last_modified TEXT NOT NULL, audience TEXT, priority REAL, tags TEXT NOT NULL, revision INTEGER NOT NULL DEFAULT 0)`,
    "CREATE INDEX resources_by_hash ON resources (hash)",
    "CREATE TABLE resource_tags (tag TEXT NOT NULL, uri TEXT NOT NULL, PRIMARY KEY (tag, uri)) WITHOUT ROWID",
    "CREATE TABLE body_copies (hash TEXT PRIMARY KEY, body BLOB NOT NULL, expires INTEGER NOT NULL)",
    "CREATE TABLE body_garbage (hash TEXT PRIMARY KEY, delete_at INTEGER NOT NULL)",
    "CREATE TABLE body_deletions (hash TEXT PRIMARY KEY, expires INTEGER NOT NULL)",
    `CREATE TABLE edit_outbox (sequence INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, actor TEXT NOT NULL,
       action TEXT NOT NULL, target TEXT NOT NULL, before TEXT NOT NULL, after TEXT NOT NULL)`,
    ...totalsMigrations,
    ...textMigrations,
    ...partMigrations,
  ],
  // A writer may be cut off after its upload, and its tenant be deleted in the meantime.
  sweep: async (host) => {
    if ((await purgeListedBodies(host, SWEEP_BATCH)) === SWEEP_BATCH)
      throw new Error("more bodies remain to be deleted");
  },
  open: (host) => ({ methods: createContentMethods(host), alarm: async (now) => collectGarbage(host, now) }),
};

function findStoredRow(sql: SqlStorage, uri: string): StoredRow | undefined {
  return sql.exec<StoredRow>("SELECT * FROM resources WHERE uri = ?", uri).toArray()[0];
}

function createContentMethods(host: StoreHost): ContentMethods {
  const { sql } = host;
  const write = <T>(work: () => T): T => host.transaction(work);
  const find = (uri: string) => findStoredRow(sql, uri);
  return {
    put: (resource) => {
      try {
        return write(() => putResource(host, resource));
      } catch (error) {
        // The body is in KV already, and nothing else would find it.
        write(() => {
          discardIfUnused(host, resource.row.hash);
        });
        throw error;
      }
    },
    get: (uri) => {
      const row = find(uri);
      return row && toResourceRow(row);
    },
    readCopy: (hash) =>
      sql.exec<{ body: ArrayBuffer }>("SELECT body FROM body_copies WHERE hash = ?", hash).toArray()[0]?.body,
    remove: (uri) =>
      write(() => {
        const row = find(uri);
        if (row) removeRow(host, row);
        return row !== undefined;
      }),
    claimUpload: (hash, by) => claimUpload(host, hash, by),
    storePart: (hash, at, part) => storePart(host, hash, at, part),
    readPart: (hash, at) => readPart(sql, hash, at),
    removeAs: (uri, edit) => write(() => removeWithConditions(host, uri, edit)),
    usage: () => totalsOf(sql),
    closeContent: (uid) => {
      host.deletion.close(uid);
    },
    purge: (limit) => purgeBodies(host, limit),
    erase: () => host.erase(),
    ...createQueryMethods(host),
  };
}

function putResource(host: StoreHost, resource: PutResource): PutResult {
  const { row, resendToken, edit } = resource;
  const old = findStoredRow(host.sql, row.uri);
  const before = old && toResourceRow(old);
  const rejection = rejectionOf(host, resource, before);
  if (rejection) {
    discardIfUnused(host, row.hash);
    return rejection;
  }
  const deletion = deletionOf(host.sql, row.hash, resendToken);
  if (deletion !== undefined) return { state: "resend", resendToken: deletion };
  if (old) deleteRow(host, old);
  const now = host.now();
  const lastModified = row.lastModified ?? new Date(now).toISOString();
  const after = { ...row, lastModified, revision: Math.max(now, (before?.revision ?? 0) + 1) };
  insertRow(host, after, resource);
  if (edit) auditEdit(host, edit.actor, { before, after });
  host.changes.updated(row.uri, !before || isListingChanged(before, after));
  return { state: "stored", lastModified, revision: after.revision, created: !before };
}

/** The reason to write nothing; undefined if the write continues. */
function rejectionOf(
  host: StoreHost,
  { edit, row, ifAbsent, maxResources, maxBytes = null }: PutResource,
  before: ResourceRow | undefined,
): PutResult | undefined {
  const rejection = edit && editRejection(edit, row, before);
  if (rejection) return rejection;
  if (ifAbsent && before) return { state: "present", row: before };
  if (!host.hasCapacity()) return { state: "full", of: "object" };
  return storageRejection(host.sql, {
    addedBytes: row.size - (before?.size ?? 0),
    isNew: !before,
    maxResources,
    maxBytes,
  });
}

/** Storage limits and the size of one write; null: no limit. */
interface StorageDemand {
  readonly addedBytes: number;
  readonly isNew: boolean;
  readonly maxResources: number | null;
  readonly maxBytes: number | null;
}

function storageRejection(
  sql: SqlStorage,
  { addedBytes, isNew, maxResources, maxBytes }: StorageDemand,
): PutResult | undefined {
  const { resources, bytes } = totalsOf(sql);
  if (isNew && maxResources !== null && resources >= maxResources) return { state: "full" };
  // A write that shrinks a resource is accepted even over the limit.
  const isTooMuch = maxBytes !== null && addedBytes > 0 && bytes + addedBytes > maxBytes;
  return isTooMuch ? { state: "full", of: "storedBytes" } : undefined;
}

function insertRow(host: StoreHost, row: ResourceRow, { searchText, copy }: PutResource): void {
  const { sql } = host;
  const { id } = sql
    .exec<{ id: number }>(
      `INSERT INTO resources (uri, name, title, description, mime_type, is_binary, size, hash, last_modified,
         audience, priority, tags, revision) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`,
      row.uri,
      row.name,
      row.title,
      row.description,
      row.mimeType,
      row.binary ? 1 : 0,
      row.size,
      row.hash,
      row.lastModified,
      row.audience === null ? null : JSON.stringify(row.audience),
      row.priority,
      JSON.stringify(row.tags),
      row.revision,
    )
    .one();
  for (const tag of row.tags) sql.exec("INSERT OR IGNORE INTO resource_tags (tag, uri) VALUES (?, ?)", tag, row.uri);
  indexText(sql, id, row, searchText);
  sql.exec("DELETE FROM body_garbage WHERE hash = ?", row.hash);
  if (copy) {
    const expires = ceilToMinute(host.now() + COPY_LIFETIME_MS);
    sql.exec("INSERT OR REPLACE INTO body_copies (hash, body, expires) VALUES (?, ?, ?)", row.hash, copy, expires);
    host.scheduleAlarm(expires);
  }
}

function removeRow(host: StoreHost, row: StoredRow): void {
  deleteRow(host, row);
  host.changes.updated(row.uri, true);
}

function removeWithConditions(
  host: StoreHost,
  uri: string,
  { actor, ifMatch }: Pick<Edit, "actor" | "ifMatch">,
): RemoveResult {
  const stored = findStoredRow(host.sql, uri);
  const row = stored && toResourceRow(stored);
  if (!matchesIfMatch(ifMatch, row)) return { state: "conflict", etag: row ? etagOf(row) : null };
  if (!stored || !row) return { state: "absent" };
  removeRow(host, stored);
  auditEdit(host, actor, { before: row, after: undefined });
  return { state: "removed" };
}

function deleteRow(host: StoreHost, row: StoredRow): void {
  const { sql } = host;
  unindexText(sql, row.id);
  for (const tag of JSON.parse(row.tags) as string[]) {
    sql.exec("DELETE FROM resource_tags WHERE tag = ? AND uri = ?", tag, row.uri);
  }
  sql.exec("DELETE FROM resources WHERE id = ?", row.id);
  discardIfUnused(host, row.hash);
}
