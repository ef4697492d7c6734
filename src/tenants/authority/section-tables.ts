// Owns the bodies of a tenant's sections in its object, for isolates where KV does not show them yet; section-rows.ts
// has which sections there are. A section is what a feature leases beside the policy because it is large.

import { sectionHash } from "./section-rows.ts";
import type { TenantHost } from "./tenant-host.ts";
import type { Tables } from "./tables.ts";

export const MAX_SECTION_BYTES = 2 * 1024 * 1024;
/** The most that all sections of a tenant may have together. */
export const MAX_SECTIONS_BYTES = 8 * 1024 * 1024;
/** SQLite in a Durable Object stores at most 2 MB in a row, so a body is cut into parts. */
const PART_BYTES = 1024 * 1024;
/** How long a replaced body stays in KV, for isolates with an older lease. */
const GRACE_MS = 600_000;
const BATCH = 100;

export type SectionWrite =
  | { readonly state: "written"; readonly effectiveAt: number }
  | { readonly state: "unchanged" }
  /** There is no such tenant any more. */
  | { readonly state: "absent" }
  /** The tenant's sections would be larger than they may be. */
  | { readonly state: "full" };

export interface SectionMethods {
  put(section: { readonly name: string; readonly hash: string; readonly body: ArrayBuffer }): SectionWrite;
  remove(name: string): SectionWrite;
  /** null: no section has this hash. */
  body(hash: string): ArrayBuffer | null;
}

/** Under the prefix of the tenant's resource bodies, so that deleting all of those deletes the sections too. */
export function sectionKey(tenant: string, hash: string): string {
  return `body/${tenant}/section-${hash}`;
}

export const sectionTables: Tables<SectionMethods, TenantHost> = {
  name: "sections",
  migrations: [
    "CREATE TABLE section_parts (hash TEXT NOT NULL, at INTEGER NOT NULL, part BLOB NOT NULL, PRIMARY KEY (hash, at)) WITHOUT ROWID",
    "CREATE TABLE section_garbage (hash TEXT PRIMARY KEY, collect_at INTEGER NOT NULL) WITHOUT ROWID",
  ],
  open: (host) => ({ methods: methodsOf(host), alarm: (now) => collect(host, now) }),
};

function methodsOf(host: TenantHost): SectionMethods {
  const { sql } = host;
  const written = (): SectionWrite => ({ state: "written", effectiveAt: host.effectiveAt() });
  return {
    put: ({ name, hash, body }) =>
      host.transaction(() => {
        if (host.closure.isClosed() || host.revision() === 0) return { state: "absent" };
        const before = sectionHash(sql, name);
        if (before === hash) return { state: "unchanged" };
        if (body.byteLength > MAX_SECTION_BYTES || bytesWithout(sql, before) + body.byteLength > MAX_SECTIONS_BYTES) {
          return { state: "full" };
        }
        storeParts(sql, hash, body);
        host.definitionsChanged(name, hash);
        discard(host, before);
        return written();
      }),
    remove: (name) =>
      host.transaction(() => {
        const before = sectionHash(sql, name);
        if (!host.definitionsChanged(name, null)) return { state: "unchanged" };
        discard(host, before);
        return written();
      }),
    body: (hash) => bodyOf(sql, hash),
  };
}

/** The bytes of all sections, apart from the one with this hash, which is being replaced. */
function bytesWithout(sql: SqlStorage, hash: string | null): number {
  const query = "SELECT sum(length(part)) AS bytes FROM section_parts WHERE hash IS NOT ?";
  return sql.exec<{ bytes: number | null }>(query, hash).one().bytes ?? 0;
}

function storeParts(sql: SqlStorage, hash: string, body: ArrayBuffer): void {
  sql.exec("DELETE FROM section_garbage WHERE hash = ?", hash);
  sql.exec("DELETE FROM section_parts WHERE hash = ?", hash);
  for (let at = 0; at < body.byteLength; at += PART_BYTES) {
    sql.exec("INSERT INTO section_parts (hash, at, part) VALUES (?, ?, ?)", hash, at, body.slice(at, at + PART_BYTES));
  }
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
function discard(host: TenantHost, hash: string | null): void {
  const { sql } = host;
  if (hash === null || sql.exec("SELECT 1 FROM sections WHERE hash = ?", hash).toArray().length > 0) return;
  sql.exec("DELETE FROM section_parts WHERE hash = ?", hash);
  const at = host.now() + GRACE_MS;
  sql.exec("INSERT OR REPLACE INTO section_garbage (hash, collect_at) VALUES (?, ?)", hash, at);
  host.wakeAt(at);
}

/** Deletes bodies in KV whose grace is over; gives the time of the next, milliseconds since the epoch. */
async function collect(host: TenantHost, now: number): Promise<number | undefined> {
  const { sql, env, tenant } = host;
  const due = sql
    .exec<{ hash: string }>("SELECT hash FROM section_garbage WHERE collect_at <= ? LIMIT ?", now, BATCH)
    .toArray();
  const { BODIES } = env as { BODIES: KVNamespace };
  for (const { hash } of due) {
    // Asked again: while the body before it was deleted, a write may have taken this one into use.
    if (sql.exec("SELECT 1 FROM section_garbage WHERE hash = ?", hash).toArray().length === 0) continue;
    try {
      await BODIES.delete(sectionKey(tenant, hash));
    } catch {
      // Not thrown: the runtime gives up an alarm that fails too often, and with it everything that waits here.
      return host.now() + 60_000;
    }
    sql.exec("DELETE FROM section_garbage WHERE hash = ? AND collect_at <= ?", hash, now);
  }
  return (
    sql.exec<{ next: number | null }>("SELECT min(collect_at) AS next FROM section_garbage").one().next ?? undefined
  );
}
