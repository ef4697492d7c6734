// Owns the bodies of a tenant's sections in its object, for isolates where KV does not show them yet; section-rows.ts
// has which sections there are. A section is what a feature leases beside the policy because it is large.

import { deleteDueBodies, recentDeletionOf, scheduleBodyDeletion, type GarbageTables } from "./body-garbage.ts";
import { sectionHash } from "./section-hash-store.ts";
import type { Propagation } from "./policy-records.ts";
import type { TenantHost } from "./tenant-host.ts";
import type { Store } from "./store.ts";

export const MAX_SECTION_BYTES = 2 * 1024 * 1024;
/** The most that all sections of a tenant may have together. */
export const MAX_SECTIONS_BYTES = 8 * 1024 * 1024;
/** SQLite in a Durable Object stores at most 2 MB in a row, so a body is cut into parts. */
const PART_BYTES = 1024 * 1024;
export type SectionWriteResult =
  | ({ readonly state: "written" } & Propagation)
  | { readonly state: "unchanged" }
  /** The section, or all of the tenant's together, would be larger than they may be. */
  | { readonly state: "full" };

export type PutSectionResult =
  | SectionWriteResult
  /** The body may be missing in KV: upload it again, and say `collected` as `resent`. */
  | { readonly state: "resend"; readonly collected: number };

export interface SectionBody {
  readonly name: string;
  readonly hash: string;
  readonly body: ArrayBuffer;
  /** `collected` of the last answer "resend", now that the body was uploaded again; null before. */
  readonly resent: number | null;
  /** KV did not take the body: it is to be written again, though it be the same. */
  readonly unstored?: boolean;
}

export interface SectionMethods {
  /** Whether the section has this body, and KV does: then there is nothing to write. */
  has(name: string, hash: string): boolean;
  /** The body is in KV already. One that is refused is deleted there, unless another section has it. */
  put(section: SectionBody): PutSectionResult;
  remove(name: string): SectionWriteResult;
  /** null: no section has this hash. */
  body(hash: string): ArrayBuffer | null;
}

/**
 * Under the prefix of the tenant's resource bodies, so that deleting all of those deletes the sections too. `kept`: as
 * `keptUnder` makes it.
 */
export function sectionKey(storageKey: string, hash: string): string {
  return `body/${storageKey}/section-${hash}`;
}

const SECTION_GARBAGE: GarbageTables = {
  garbageTable: "section_garbage",
  deletedTable: "section_collected",
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
    "CREATE TABLE section_parts (hash TEXT NOT NULL, at INTEGER NOT NULL, part BLOB NOT NULL, PRIMARY KEY (hash, at)) WITHOUT ROWID",
    "CREATE TABLE section_garbage (hash TEXT PRIMARY KEY, collect_at INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE section_collected (hash TEXT PRIMARY KEY, until INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE section_unstored (hash TEXT PRIMARY KEY) WITHOUT ROWID",
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
  return sql.exec("SELECT 1 FROM section_unstored WHERE hash = ?", hash).toArray().length > 0;
}

function setUnstored(sql: SqlStorage, { hash, unstored = false }: SectionBody): void {
  if (unstored) sql.exec("INSERT OR IGNORE INTO section_unstored (hash) VALUES (?)", hash);
  else sql.exec("DELETE FROM section_unstored WHERE hash = ?", hash);
}

function putSection(host: TenantHost, section: SectionBody): PutSectionResult {
  const { name, hash, body, resent } = section;
  const { sql } = host;
  const before = sectionHash(sql, name);
  if (before === hash) return { state: "unchanged" };
  if (!host.hasCapacity() || isTooLarge(sql, section)) {
    discardBody(host, hash);
    return { state: "full" };
  }
  const collected = recentDeletionOf(sql, SECTION_GARBAGE, hash, resent);
  if (collected !== undefined) return { state: "resend", collected };
  storeParts(sql, hash, body);
  host.definitionsChanged(name, hash);
  discardBody(host, before);
  return { state: "written", ...host.propagation() };
}

/** Whether it is too large alone, or with the bodies that the other sections have; equal sections share one body. */
function isTooLarge(sql: SqlStorage, { name, hash, body: { byteLength } }: SectionBody): boolean {
  const query = `SELECT sum(length(part)) AS bytes FROM section_parts
    WHERE hash IN (SELECT hash FROM sections WHERE name <> ?) AND hash <> ?`;
  const otherBytes = sql.exec<{ bytes: number | null }>(query, name, hash).one().bytes ?? 0;
  return byteLength > MAX_SECTION_BYTES || otherBytes + byteLength > MAX_SECTIONS_BYTES;
}

function storeParts(sql: SqlStorage, hash: string, body: ArrayBuffer): void {
  sql.exec("DELETE FROM section_garbage WHERE hash = ?", hash);
  sql.exec("DELETE FROM section_parts WHERE hash = ?", hash);
  // An empty section is one empty part: without any, it would be a body that nobody has.
  let at = 0;
  do {
    sql.exec("INSERT INTO section_parts (hash, at, part) VALUES (?, ?, ?)", hash, at, body.slice(at, at + PART_BYTES));
    at += PART_BYTES;
  } while (at < body.byteLength);
}

function bodyOf(sql: SqlStorage, hash: string): ArrayBuffer | null {
  const parts = sql
    .exec<{ at: number; part: ArrayBuffer }>("SELECT at, part FROM section_parts WHERE hash = ? ORDER BY at", hash)
    .toArray();
  if (parts.length === 0) return null;
  const size = parts.reduce((sum, { part }) => sum + part.byteLength, 0);
  const body = new Uint8Array(size);
  for (const { at, part } of parts) body.set(new Uint8Array(part), at);
  return body.buffer;
}

/** Deletes a body that no section names any more: here at once, in KV after a grace. */
function discardBody(host: TenantHost, hash: string | null): void {
  const { sql } = host;
  if (hash === null || sql.exec("SELECT 1 FROM sections WHERE hash = ?", hash).toArray().length > 0) return;
  sql.exec("DELETE FROM section_parts WHERE hash = ?", hash);
  sql.exec("DELETE FROM section_unstored WHERE hash = ?", hash);
  scheduleBodyDeletion(host, SECTION_GARBAGE, hash);
}
