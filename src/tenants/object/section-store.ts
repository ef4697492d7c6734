// The bodies of a tenant's sections in its object, for isolates to which KV does not show them yet. A section is data
// that a feature leases beside the policy because it is large. section-hash-store.ts lists the sections.

import { deleteDueBodies, recentDeletionOf, scheduleBodyDeletion, type GarbageTables } from "./body-garbage.ts";
import { sectionHash } from "./section-hash-store.ts";
import type { Propagation } from "./policy-records.ts";
import type { TenantHost } from "./tenant-host.ts";
import type { Store } from "./store.ts";

export const MAX_SECTION_BYTES = 2 * 1024 * 1024;
/** The most bytes of all sections of a tenant together. */
export const MAX_SECTIONS_BYTES = 8 * 1024 * 1024;
/** SQLite in a Durable Object stores at most 2 MB per row, so a body is split into parts. */
const PART_BYTES = 1024 * 1024;
export type SectionWriteResult =
  | ({ readonly state: "written" } & Propagation)
  | { readonly state: "unchanged" }
  /** The section, or all of the tenant's sections together, would be too large. */
  | { readonly state: "full" };

export type PutSectionResult =
  | SectionWriteResult
  /** The body may be missing in KV: upload it again, and send the token with it. */
  | { readonly state: "resend"; readonly resendToken: number };

export interface SectionBody {
  readonly name: string;
  readonly hash: string;
  readonly body: ArrayBuffer;
  /** The token of the last "resend" answer, after the body was uploaded again; null before. */
  readonly resendToken: number | null;
  /** KV did not accept the body. It must be written again, even if it is unchanged. */
  readonly unstored?: boolean;
}

export interface SectionMethods {
  /** Whether the section has this body and KV has it too, so that nothing needs to be written. */
  has(name: string, hash: string): boolean;
  /** The body is already in KV. If it is refused, it is deleted there, unless another section has it. */
  put(section: SectionBody): PutSectionResult;
  remove(name: string): SectionWriteResult;
  /** null: no section has this hash. */
  body(hash: string): ArrayBuffer | null;
}

/**
 * Under the prefix of the tenant's resource bodies, so that deleting all of those deletes the sections too.
 * `storageKey`: as `storageKey()` in tenant-uid.ts makes it.
 */
export function sectionKey(storageKey: string, hash: string): string {
  return `body/${storageKey}/section-${hash}`;
}

const SECTION_GARBAGE: GarbageTables = {
  garbageTable: "section_garbage",
  deletionsTable: "section_deletions",
  alarmName: "sections",
  keyOf: sectionKey,
};

export const sectionStore: Store<SectionMethods, TenantHost> = {
  name: "sections",
  methods: {
    has: { idempotent: true },
    put: { idempotent: true },
    remove: { idempotent: true },
    body: { idempotent: true },
  },
  migrations: [
    "CREATE TABLE section_parts (hash TEXT NOT NULL, position INTEGER NOT NULL, part BLOB NOT NULL, PRIMARY KEY (hash, position)) WITHOUT ROWID",
    "CREATE TABLE section_garbage (hash TEXT PRIMARY KEY, delete_at INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE section_deletions (hash TEXT PRIMARY KEY, expires INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE section_kv_failures (hash TEXT PRIMARY KEY) WITHOUT ROWID",
  ],
  open: (host) => ({ methods: methodsOf(host), alarm: (now) => deleteDueBodies(host, SECTION_GARBAGE, now) }),
};

function methodsOf(host: TenantHost): SectionMethods {
  const { sql } = host;
  const recordWrite = (): SectionWriteResult => ({ state: "written", ...host.propagation() });
  return {
    has: (name, hash) => sectionHash(sql, name) === hash && !isUnstored(sql, hash),
    put: (section) =>
      host.transaction(() => {
        const result = putSection(host, section);
        if (result.state === "written" || result.state === "unchanged") setUnstored(sql, section);
        return result;
      }),
    remove: (name) =>
      host.transaction(() => {
        const before = sectionHash(sql, name);
        if (!host.definitionsChanged(name, null)) return { state: "unchanged" };
        discardBody(host, before);
        return recordWrite();
      }),
    body: (hash) => bodyOf(sql, hash),
  };
}

function isUnstored(sql: SqlStorage, hash: string): boolean {
  return sql.exec("SELECT 1 FROM section_kv_failures WHERE hash = ?", hash).toArray().length > 0;
}

function setUnstored(sql: SqlStorage, { hash, unstored = false }: SectionBody): void {
  if (unstored) sql.exec("INSERT OR IGNORE INTO section_kv_failures (hash) VALUES (?)", hash);
  else sql.exec("DELETE FROM section_kv_failures WHERE hash = ?", hash);
}

function putSection(host: TenantHost, section: SectionBody): PutSectionResult {
  const { name, hash, body, resendToken } = section;
  const { sql } = host;
  const before = sectionHash(sql, name);
  if (before === hash) return { state: "unchanged" };
  if (!host.hasCapacity() || isTooLarge(sql, section)) {
    discardBody(host, hash);
    return { state: "full" };
  }
  const deletion = recentDeletionOf(sql, SECTION_GARBAGE, hash, resendToken);
  if (deletion !== undefined) return { state: "resend", resendToken: deletion };
  storeParts(sql, hash, body);
  host.definitionsChanged(name, hash);
  discardBody(host, before);
  return { state: "written", ...host.propagation() };
}

/** Whether the section is too large alone, or together with the other bodies. Equal sections share one body. */
function isTooLarge(sql: SqlStorage, { name, hash, body: { byteLength } }: SectionBody): boolean {
  const query = `SELECT sum(length(part)) AS bytes FROM section_parts
    WHERE hash IN (SELECT hash FROM sections WHERE name <> ?) AND hash <> ?`;
  const otherBytes = sql.exec<{ bytes: number | null }>(query, name, hash).one().bytes ?? 0;
  return byteLength > MAX_SECTION_BYTES || otherBytes + byteLength > MAX_SECTIONS_BYTES;
}

function storeParts(sql: SqlStorage, hash: string, body: ArrayBuffer): void {
  sql.exec("DELETE FROM section_garbage WHERE hash = ?", hash);
  sql.exec("DELETE FROM section_parts WHERE hash = ?", hash);
  // An empty section is stored as one empty part. Without any part, its body would be missing.
  let at = 0;
  do {
    sql.exec(
      "INSERT INTO section_parts (hash, position, part) VALUES (?, ?, ?)",
      hash,
      at,
      body.slice(at, at + PART_BYTES),
    );
    at += PART_BYTES;
  } while (at < body.byteLength);
}

function bodyOf(sql: SqlStorage, hash: string): ArrayBuffer | null {
  const parts = sql
    .exec<{ position: number; part: ArrayBuffer }>(
      "SELECT position, part FROM section_parts WHERE hash = ? ORDER BY position",
      hash,
    )
    .toArray();
  if (parts.length === 0) return null;
  const size = parts.reduce((sum, { part }) => sum + part.byteLength, 0);
  const body = new Uint8Array(size);
  for (const { position, part } of parts) body.set(new Uint8Array(part), position);
  return body.buffer;
}

/** Deletes a body that no section names any more: here at once, in KV after a grace period. */
function discardBody(host: TenantHost, hash: string | null): void {
  const { sql } = host;
  if (hash === null || sql.exec("SELECT 1 FROM sections WHERE hash = ?", hash).toArray().length > 0) return;
  sql.exec("DELETE FROM section_parts WHERE hash = ?", hash);
  sql.exec("DELETE FROM section_kv_failures WHERE hash = ?", hash);
  scheduleBodyDeletion(host, SECTION_GARBAGE, hash);
}
