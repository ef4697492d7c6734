// Owns the calls that a tenant chose to have recorded: a chain of hashes, so that a row that is changed or taken out of it is
// found. The oldest go; what they hung on is kept, so that the rest can still be held against it.

import type { CallAuditReader, RecordedCall } from "../deployment/record-readers.ts";
import type { TenantHost } from "../tenants/authority/tenant-host.ts";
import type { Tables } from "../tenants/authority/tables.ts";
import { batchMigration, forgetMakers, isTaken, takeBatch } from "./batch-rows.ts";
import type { BatchNumber } from "./call-batches.ts";
import { sha256Of } from "./redacted.ts";

export interface CallAuditMethods {
  /** `entries`: each a JSON object without its place; `days`: how long the tenant wants them kept. */
  append(number: BatchNumber, entries: readonly string[], days: number): Promise<boolean>;
  page(after: number): Awaited<ReturnType<CallAuditReader["page"]>>;
}

export const MOST_CALLS = 100_000;
export const MOST_CALL_BYTES = 64 * 1024 * 1024;
const DAY_MS = 86_400_000;
const GO_AT_ONCE = 1_000;
const PAGE = 200;
/** What the first one hangs on. */
export const FIRST_HASH = "0".repeat(64);

interface KeptRow {
  [column: string]: SqlStorageValue;
  anchor: number;
  anchor_hash: string;
  head: number;
  head_hash: string;
  bytes: number;
  days: number;
}

type Row = { [column: string]: SqlStorageValue } & RecordedCall;

export const callAuditTables: Tables<CallAuditMethods, TenantHost> = {
  name: "call-audit",
  methods: { append: {}, page: { idempotent: true } },
  migrations: [
    "CREATE TABLE recorded_calls (sequence INTEGER PRIMARY KEY, at INTEGER NOT NULL, text TEXT NOT NULL, hash TEXT NOT NULL)",
    `CREATE TABLE recorded_kept (one INTEGER PRIMARY KEY CHECK (one = 1), anchor INTEGER NOT NULL, anchor_hash TEXT NOT NULL,
       head INTEGER NOT NULL, head_hash TEXT NOT NULL, bytes INTEGER NOT NULL, days INTEGER NOT NULL)`,
    `INSERT INTO recorded_kept (one, anchor, anchor_hash, head, head_hash, bytes, days)
       VALUES (1, 0, '${FIRST_HASH}', 0, '${FIRST_HASH}', 0, 30)`,
    batchMigration("recorded_batches"),
  ],
  open: (host) => {
    // Hashes are waited for, so batches are taken one after the other.
    let last: Promise<unknown> = Promise.resolve();
    return {
      methods: {
        append: (number, entries, days) => {
          const done = last.then(() => append(host, number, { entries, days }));
          // Whoever handed it over is told; the next batch waits for its end alone.
          last = done.catch(() => {});
          return done;
        },
        page: (after) => page(host.sql, after),
      },
      alarm: async () => {
        forgetMakers(host, "recorded_batches");
        return host.transaction(() => prune(host, GO_AT_ONCE));
      },
    };
  },
};

function keptOf(sql: SqlStorage): KeptRow {
  return sql.exec<KeptRow>("SELECT anchor, anchor_hash, head, head_hash, bytes, days FROM recorded_kept").one();
}

interface Batch {
  readonly entries: readonly string[];
  readonly days: number;
}

async function append(host: TenantHost, number: BatchNumber, { entries, days }: Batch): Promise<boolean> {
  const { sql } = host;
  // Sent again while the first is on its way: nothing is hashed for it.
  if (isTaken(sql, "recorded_batches", number)) return false;
  const created = host.created();
  let { head, head_hash: hash } = keptOf(sql);
  const rows: RecordedCall[] = [];
  for (const entry of entries) {
    head += 1;
    const text = `{"sequence":${head},${entry.slice(1)}`;
    hash = await sha256Of(`${hash}\n${text}`);
    rows.push({ sequence: head, text, hash });
  }
  return host.transaction(() => {
    // While hashes were made the tenant may have ended, and another one of its name have come.
    if (host.created() !== created || !takeBatch(host, "recorded_batches", number)) return false;
    const at = host.now();
    for (const { sequence, text, hash: own } of rows) {
      sql.exec("INSERT INTO recorded_calls (sequence, at, text, hash) VALUES (?, ?, ?, ?)", sequence, at, text, own);
    }
    const bytes = rows.reduce((sum, { text }) => sum + encoder.encode(text).byteLength, 0);
    const update = "UPDATE recorded_kept SET head = ?, head_hash = ?, bytes = bytes + ?, days = ?";
    sql.exec(update, head, hash, bytes, days);
    // The object grants leases, too: a call reads through no more than what it brought, and the alarm does the rest.
    const next = prune(host, Math.min(GO_AT_ONCE, 2 * rows.length));
    if (next !== undefined) host.wakeAt(next);
    return true;
  });
}

/** Bytes as they were counted when they came: SQLite's characters are others than those of JavaScript. */
const OLDEST = `SELECT sequence, at, hash, length(CAST(text AS BLOB)) AS size FROM recorded_calls
  ORDER BY sequence LIMIT ?`;
const encoder = new TextEncoder();

/** Takes out some of those that are too old or too many; gives when to go on, milliseconds since the epoch. */
function prune(host: TenantHost, most: number): number | undefined {
  const { sql } = host;
  const { anchor, head, bytes, days } = keptOf(sql);
  const now = host.now();
  const rows = sql.exec<Row & { at: number; size: number }>(OLDEST, most + 1).toArray();
  let left = bytes;
  let gone = 0;
  for (const { sequence, at, size } of rows.slice(0, most)) {
    const isTooMany = head - sequence >= MOST_CALLS || left > MOST_CALL_BYTES || !host.hasRoom();
    if (!isTooMany && at + days * DAY_MS > now) break;
    left -= size;
    gone += 1;
  }
  const last = rows[gone - 1];
  if (last && last.sequence > anchor) {
    sql.exec("DELETE FROM recorded_calls WHERE sequence <= ?", last.sequence);
    sql.exec("UPDATE recorded_kept SET anchor = ?, anchor_hash = ?, bytes = ?", last.sequence, last.hash, left);
  }
  const next = rows[gone];
  return next && Math.max(now + 1_000, gone === most ? 0 : next.at + days * DAY_MS);
}

function page(sql: SqlStorage, after: number): ReturnType<CallAuditMethods["page"]> {
  const { anchor, anchor_hash, head, head_hash } = keptOf(sql);
  const query = "SELECT sequence, text, hash FROM recorded_calls WHERE sequence > ? ORDER BY sequence LIMIT ?";
  return {
    anchor: { sequence: anchor, hash: anchor_hash },
    head: { sequence: head, hash: head_hash },
    calls: sql.exec<Row>(query, after, PAGE).toArray(),
  };
}
