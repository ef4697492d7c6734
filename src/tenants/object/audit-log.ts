// The audit log. An entry is written in the transaction of the change that it records. Entries are deleted when they
// are too old or too many; the oldest remaining entry then says how many were deleted. If all texts together are too
// large, the oldest entries lose their texts, but not the fact that they happened. So writing large documents cannot
// remove an entry.

import { countContainers } from "../../mcp-client/json-text.ts";
import { CONTAINER_BYTES } from "../../protocol/jsonrpc.ts";
import type { Actor, AuditEntry } from "./policy-records.ts";
import type { StoreHost } from "./store.ts";

const MAX_PAGE = 100;
const DAY = 86_400_000;
/** Days that entries are kept, unless the Worker's `AUDIT_DAYS` says otherwise. */
export const AUDIT_DAYS = 400;
const MIN_DAYS = 30;
const MAX_DAYS = 3650;
/** An entry may contain two documents, so the total size is bounded too: the oldest entries lose their texts. */
export const AUDIT_ENTRIES = 100_000;
export const AUDIT_BYTES = 256 * 1024 * 1024;
/** How many entries are deleted at once: more than are written, so that an excess shrinks. */
const PRUNE_BATCH = 50;

/** Migrations for every object with an `audit` table. */
export const auditMigrations: readonly string[] = [
  "CREATE TABLE audit_totals (one INTEGER PRIMARY KEY CHECK (one = 1), bytes INTEGER NOT NULL, truncated_to INTEGER NOT NULL)",
  "INSERT INTO audit_totals (one, bytes, truncated_to) VALUES (1, 0, 0)",
];

type AuditHost = Pick<StoreHost, "sql" | "now" | "env" | "scheduleAlarm">;

export function recordAudit(
  host: AuditHost,
  actor: Actor,
  [action, target]: readonly [action: string, target: string],
  { before, after }: { readonly before: unknown; readonly after: unknown },
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
  sql.exec("UPDATE audit_totals SET bytes = bytes + octet_length(?) + octet_length(?)", ...texts);
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

/** The action of the entry that stands for the deleted entries. */
const PRUNED = "audit.prune";
/**
 * Reads the text of the prune marker only: other texts may be large. Excludes the newest entry. It belongs to the
 * current change, and stays however old it gets: an alarm for it would fire forever.
 */
const OLDEST_ROWS = `SELECT sequence, at, action, CASE action WHEN ? THEN before END AS before,
  octet_length(before) + octet_length(after) AS bytes FROM audit
  WHERE sequence > 0 AND sequence < (SELECT max(sequence) FROM audit) ORDER BY sequence LIMIT ?`;

/** A text up to this size stays: all entries with two such texts are less than the total limit. */
const SMALL_TEXT = 512;
const LARGEST_TEXTS = `SELECT sequence, octet_length(before) AS old, octet_length(after) AS new FROM audit
  WHERE sequence > (SELECT truncated_to FROM audit_totals) AND octet_length(before) + octet_length(after) > ?
  ORDER BY sequence LIMIT ?`;

/** If all texts together are too large, large texts of the oldest entries are replaced by their size. */
function truncateOldest(sql: SqlStorage): void {
  let { bytes } = sql.exec<{ bytes: number }>("SELECT bytes FROM audit_totals").one();
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
  if (truncatedTo !== undefined) sql.exec("UPDATE audit_totals SET bytes = ?, truncated_to = ?", bytes, truncatedTo);
}

/**
 * Deletes some of the entries that are too old or too many. Returns when to continue, in milliseconds since the epoch.
 */
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
  /** The marker of earlier deletions. */
  readonly marker: PrunableRow | undefined;
  readonly lastPruned: PrunableRow;
  readonly at: string;
}

/**
 * Turns the last deleted entry into the marker, which says how many entries were deleted in all, and from when they
 * were.
 */
function writePruneMarker(sql: SqlStorage, { pruned, marker, lastPruned: last, at }: PrunedEntries): void {
  const earlier = marker && (JSON.parse(marker.before ?? "null") as { entries: number; from: string });
  const before = JSON.stringify({
    entries: pruned.length + (earlier?.entries ?? 0),
    from: earlier?.from ?? pruned[0]?.at,
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
  const removedBytes = pruned.reduce((sum, { bytes }) => sum + bytes, marker?.bytes ?? 0);
  sql.exec("UPDATE audit_totals SET bytes = max(0, bytes - ? + octet_length(?) + 4)", removedBytes, before);
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
 * The size limit of a page, with `CONTAINER_BYTES` for each object and list. A page is sent in one piece, and authors
 * of documents choose how large the documents are.
 */
const PAGE_CHARACTERS = 4_194_304;

/**
 * Entries before the sequence number `before` (null: from the newest), newest first, 1 to 100 of them. If they are
 * large, fewer: up to one more than fits a page.
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

/** How many of the entries from `auditPage` fit a page: at least one. */
export function countFittingEntries(entries: readonly AuditEntry[]): number {
  let remaining = PAGE_CHARACTERS;
  const firstTooLarge = entries.findIndex(({ before, after }) => {
    remaining -= costOf(JSON.stringify(before)) + costOf(JSON.stringify(after));
    return remaining < 0;
  });
  return firstTooLarge < 0 ? entries.length : Math.max(1, firstTooLarge);
}
