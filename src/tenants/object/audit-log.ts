// Owns the audit log. An entry is written in the transaction of the change that it records, and is never changed. Entries
// go when they are old, or when there are too many; the oldest that is left then says how many went. What is too large in
// all costs the oldest their texts, not that they happened: nobody makes an entry go by writing large documents.

import { countContainers } from "../../mcp-client/json-text.ts";
import { CONTAINER_BYTES } from "../../protocol/jsonrpc.ts";
import type { Actor, AuditEntry } from "./policy-records.ts";
import type { StoreHost } from "./store.ts";

const MAX_PAGE = 100;
const DAY = 86_400_000;
/** Days that entries are kept, where the Worker's `AUDIT_DAYS` says nothing else. */
export const AUDIT_DAYS = 400;
const MIN_DAYS = 30;
const MAX_DAYS = 3650;
/** An entry may have two documents, so what all of them have together is bounded, too: the oldest lose theirs. */
export const AUDIT_ENTRIES = 100_000;
export const AUDIT_BYTES = 256 * 1024 * 1024;
/** How many go at once: more than are written, so that what is too many becomes less. */
const PRUNE_BATCH = 50;

/** Whoever has an `audit` table has this beside it. */
export const auditMigrations: readonly string[] = [
  "CREATE TABLE audit_kept (one INTEGER PRIMARY KEY CHECK (one = 1), bytes INTEGER NOT NULL, emptied INTEGER NOT NULL)",
  "INSERT INTO audit_kept (one, bytes, emptied) VALUES (1, 0, 0)",
];

export interface AuditChange {
  readonly before: unknown;
  readonly after: unknown;
}

type AuditHost = Pick<StoreHost, "sql" | "now" | "env" | "scheduleAlarm">;

export function recordAudit(
  host: AuditHost,
  actor: Actor,
  [action, target]: readonly [action: string, target: string],
  { before, after }: AuditChange,
): void {
  const { sql, now } = host;
  const texts = [JSON.stringify(before ?? null), JSON.stringify(after ?? null)] as const;
  sql.exec(
    "INSERT INTO audit (at, actor, action, target, before, after) VALUES (?, ?, ?, ?, ?, ?)",
    new Date(now()).toISOString(),
    actor.name,
    action,
    target,
    ...texts,
  );
  sql.exec("UPDATE audit_kept SET bytes = bytes + octet_length(?) + octet_length(?)", ...texts);
  truncateOldest(sql);
  const next = pruneAudit(host);
  if (next !== undefined) host.scheduleAlarm(next);
}

interface PrunableRow {
  [column: string]: SqlStorageValue;
  sequence: number;
  at: string;
  action: string;
  before: string | null;
  bytes: number;
}

/** The action of the entry that stands for those that went. */
const PRUNED = "audit.prune";
/**
 * Of other entries than that one, what they say stays unread: it may be much. The newest is not among them: it is of the
 * change that is being made, and stays however old it gets. An alarm for it would ring for ever.
 */
const OLDEST_ROWS = `SELECT sequence, at, action, CASE action WHEN ? THEN before END AS before,
  octet_length(before) + octet_length(after) AS bytes FROM audit
  WHERE sequence > 0 AND sequence < (SELECT max(sequence) FROM audit) ORDER BY sequence LIMIT ?`;

/** A text of so few bytes stays: all entries with two of them are less than all that is kept. */
const SMALL_TEXT = 512;
const LARGEST_TEXTS = `SELECT sequence, octet_length(before) AS old, octet_length(after) AS new FROM audit
  WHERE sequence > (SELECT emptied FROM audit_kept) AND octet_length(before) + octet_length(after) > ?
  ORDER BY sequence LIMIT ?`;

/** Where all texts together are too large, large ones of the oldest entries are replaced by how large they were. */
function truncateOldest(sql: SqlStorage): void {
  let { bytes } = sql.exec<{ bytes: number }>("SELECT bytes FROM audit_kept").one();
  if (bytes <= AUDIT_BYTES) return;
  let truncatedTo: number | undefined;
  const large = sql.exec<{ sequence: number; old: number; new: number }>(LARGEST_TEXTS, 2 * SMALL_TEXT, PRUNE_BATCH);
  for (const row of large.toArray()) {
    if (bytes <= AUDIT_BYTES) break;
    truncatedTo = row.sequence;
    for (const [column, size] of [
      ["before", row.old],
      ["after", row.new],
    ] as const) {
      if (size <= SMALL_TEXT) continue;
      const placeholder = JSON.stringify({ omittedBytes: size });
      sql.exec(`UPDATE audit SET ${column} = ? WHERE sequence = ?`, placeholder, row.sequence);
      bytes -= size - placeholder.length;
    }
  }
  if (truncatedTo !== undefined) sql.exec("UPDATE audit_kept SET bytes = ?, emptied = ?", bytes, truncatedTo);
}

/** Deletes some of the entries that are too old or too many; gives when to go on, milliseconds since the epoch. */
export function pruneAudit({ sql, now, env }: Pick<AuditHost, "sql" | "now" | "env">): number | undefined {
  const rows = sql.exec<PrunableRow>(OLDEST_ROWS, PRUNED, PRUNE_BATCH + 2).toArray();
  const marker = rows[0]?.action === PRUNED ? rows.shift() : undefined;
  const retentionMs = retentionDaysOf(env) * DAY;
  const newest = sql.exec<{ newest: number | null }>("SELECT max(sequence) AS newest FROM audit").one().newest ?? 0;
  const pruned: PrunableRow[] = [];
  for (const row of rows.slice(0, PRUNE_BATCH)) {
    const isTooOld = Date.parse(row.at) + retentionMs <= now();
    if (!(isTooOld || newest - row.sequence >= AUDIT_ENTRIES)) break;
    pruned.push(row);
  }
  const lastPruned = pruned.at(-1);
  if (lastPruned) writePruneMarker(sql, { pruned, marker, lastPruned, at: new Date(now()).toISOString() });
  const next = rows[pruned.length];
  return next && (pruned.length === PRUNE_BATCH ? now() : Date.parse(next.at) + retentionMs);
}

interface PrunedEntries {
  readonly pruned: readonly PrunableRow[];
  /** Of those that went before. */
  readonly marker: PrunableRow | undefined;
  readonly lastPruned: PrunableRow;
  readonly at: string;
}

/** The last that goes becomes the entry that says how many went in all, and from when they were. */
function writePruneMarker(sql: SqlStorage, { pruned: gone, marker, lastPruned: last, at }: PrunedEntries): void {
  const earlier = marker && (JSON.parse(marker.before ?? "null") as { entries: number; from: string });
  const before = JSON.stringify({
    entries: gone.length + (earlier?.entries ?? 0),
    from: earlier?.from ?? gone[0]?.at,
    to: last.at,
  });
  sql.exec("DELETE FROM audit WHERE sequence < ?", last.sequence);
  sql.exec(
    "UPDATE audit SET at = ?, actor = 'code', action = ?, target = 'audit', before = ?, after = 'null' WHERE sequence = ?",
    at,
    PRUNED,
    before,
    last.sequence,
  );
  const removedBytes = gone.reduce((sum, { bytes }) => sum + bytes, marker?.bytes ?? 0);
  sql.exec("UPDATE audit_kept SET bytes = max(0, bytes - ? + octet_length(?) + 4)", removedBytes, before);
}

function retentionDaysOf(env: unknown): number {
  const days = Number((env as { readonly AUDIT_DAYS?: string } | undefined)?.AUDIT_DAYS ?? AUDIT_DAYS);
  return Number.isFinite(days) ? Math.min(Math.max(days, MIN_DAYS), MAX_DAYS) : AUDIT_DAYS;
}

interface AuditRow {
  [column: string]: SqlStorageValue;
  sequence: number;
  at: string;
  actor: string;
  action: string;
  target: string;
  before: string;
  after: string;
}

/**
 * What entries of one page say, with `CONTAINER_BYTES` for each object and list: a page is sent in one piece, and who writes
 * documents chooses how large they are.
 */
const PAGE_CHARACTERS = 4_194_304;

/**
 * Entries before the sequence number `before` (null: from the newest on), newest first, 1 to 100 of them; fewer where they
 * say much, and then one more than fits.
 */
export function auditPage(sql: SqlStorage, before: number | null, limit: number): readonly AuditEntry[] {
  const entries: AuditEntry[] = [];
  let remaining = PAGE_CHARACTERS;
  const rows = sql.exec<AuditRow>(
    "SELECT * FROM audit WHERE sequence < ? ORDER BY sequence DESC LIMIT ?",
    before ?? Number.MAX_SAFE_INTEGER,
    Math.min(Math.max(1, limit), MAX_PAGE),
  );
  for (const row of rows) {
    entries.push({ ...row, before: JSON.parse(row.before) as unknown, after: JSON.parse(row.after) as unknown });
    remaining -= costOf(row.before) + costOf(row.after);
    if (remaining < 0 && entries.length > 1) break;
  }
  return entries;
}

function costOf(json: string): number {
  return json.length + CONTAINER_BYTES * countContainers(json);
}

/** How many of what `auditPage` gave are a page: at least one. */
export function countFittingEntries(entries: readonly AuditEntry[]): number {
  let remaining = PAGE_CHARACTERS;
  const firstTooLarge = entries.findIndex(({ before, after }) => {
    remaining -= costOf(JSON.stringify(before)) + costOf(JSON.stringify(after));
    return remaining < 0;
  });
  return firstTooLarge < 0 ? entries.length : Math.max(1, firstTooLarge);
}
