// The recorded calls of a tenant, in a hash chain, so that a changed or removed row is detected. The oldest rows are
// deleted. The hash before the oldest remaining row is kept, so that the rest can still be verified.

import type { CallAuditReader, RecordedCall } from "../deployment/record-readers.ts";
import type { TenantHost } from "../tenants/object/tenant-host.ts";
import type { Store } from "../tenants/object/store.ts";
import { batchMigration, pruneBatchSources, isBatchRecorded, recordBatch } from "./batch-deduplication.ts";
import type { BatchId } from "./call-batches.ts";
import { sha256Of } from "./redact-arguments.ts";

export interface CallAuditMethods {
  /** `entries`: JSON objects without their sequence numbers. `days`: how long the tenant keeps them. */
  append(batchId: BatchId, entries: readonly string[], days: number): Promise<boolean>;
  page(after: number): Awaited<ReturnType<CallAuditReader["page"]>>;
}

export const MAX_RECORDED_CALLS = 100_000;
export const MAX_RECORDED_BYTES = 64 * 1024 * 1024;
const DAY_MS = 86_400_000;
const PRUNE_BATCH = 1_000;
const PAGE = 200;
/** The hash before the first row. */
export const FIRST_HASH = "0".repeat(64);

interface ChainRow {
  [column: string]: SqlStorageValue;
  anchor: number;
  anchor_hash: string;
  head: number;
  head_hash: string;
  bytes: number;
  days: number;
}

type Row = { [column: string]: SqlStorageValue } & RecordedCall;

export const callAuditStore: Store<CallAuditMethods, TenantHost> = {
  name: "call-audit",
  methods: { append: {}, page: { idempotent: true } },
  migrations: [
    "CREATE TABLE recorded_calls (sequence INTEGER PRIMARY KEY, at INTEGER NOT NULL, text TEXT NOT NULL, hash TEXT NOT NULL)",
    `CREATE TABLE recorded_call_chain (one INTEGER PRIMARY KEY CHECK (one = 1), anchor INTEGER NOT NULL, anchor_hash TEXT NOT NULL,
       head INTEGER NOT NULL, head_hash TEXT NOT NULL, bytes INTEGER NOT NULL, days INTEGER NOT NULL)`,
    `INSERT INTO recorded_call_chain (one, anchor, anchor_hash, head, head_hash, bytes, days)
       VALUES (1, 0, '${FIRST_HASH}', 0, '${FIRST_HASH}', 0, 30)`,
    batchMigration("recorded_call_batches"),
  ],
  open: (host) => {
    // Hashing is asynchronous, so batches are processed one after the other.
    let last: Promise<unknown> = Promise.resolve();
    return {
      methods: {
        append: (number, entries, days) => {
          const done = last.then(() => appendBatch(host, number, { entries, days }));
          // The caller gets the error. The next batch only waits for this one to end.
          last = done.catch(() => {});
          return done;
        },
        page: (after) => page(host.sql, after),
      },
      alarm: async () => {
        pruneBatchSources(host, "recorded_call_batches");
        return host.transaction(() => prune(host, PRUNE_BATCH));
      },
    };
  },
};

function chainOf(sql: SqlStorage): ChainRow {
  return sql.exec<ChainRow>("SELECT anchor, anchor_hash, head, head_hash, bytes, days FROM recorded_call_chain").one();
}

interface Batch {
  readonly entries: readonly string[];
  readonly days: number;
}

async function appendBatch(host: TenantHost, batchId: BatchId, { entries, days }: Batch): Promise<boolean> {
  const { sql } = host;
  // A repetition while the first one is processed: it is not hashed again.
  if (isBatchRecorded(sql, "recorded_call_batches", batchId)) return false;
  const created = host.created();
  let { head, head_hash: hash } = chainOf(sql);
  const rows: RecordedCall[] = [];
  for (const entry of entries) {
    head += 1;
    const text = `{"sequence":${head},${entry.slice(1)}`;
    hash = await sha256Of(`${hash}\n${text}`);
    rows.push({ sequence: head, text, hash });
  }
  return host.transaction(() => {
    // While the hashes were computed, the tenant may have been deleted and another one of its name created.
    if (host.created() !== created || !recordBatch(host, "recorded_call_batches", batchId)) return false;
    const at = host.now();
    for (const { sequence, text, hash: rowHash } of rows) {
      sql.exec(
        "INSERT INTO recorded_calls (sequence, at, text, hash) VALUES (?, ?, ?, ?)",
        sequence,
        at,
        text,
        rowHash,
      );
    }
    const bytes = rows.reduce((sum, { text }) => sum + encoder.encode(text).byteLength, 0);
    const update = "UPDATE recorded_call_chain SET head = ?, head_hash = ?, bytes = bytes + ?, days = ?";
    sql.exec(update, head, hash, bytes, days);
    // The object also grants leases, so a batch prunes only about as many rows as it adds. The alarm does the rest.
    const next = prune(host, Math.min(PRUNE_BATCH, 2 * rows.length));
    if (next !== undefined) host.scheduleAlarm(next);
    return true;
  });
}

/** Counts bytes, as when the rows were added: SQLite and JavaScript count characters differently. */
const OLDEST = `SELECT sequence, at, hash, length(CAST(text AS BLOB)) AS size FROM recorded_calls
  ORDER BY sequence LIMIT ?`;
const encoder = new TextEncoder();

/** Deletes some of the rows that are too old or too many. Returns when to continue, in milliseconds since the epoch. */
function prune(host: TenantHost, limit: number): number | undefined {
  const { sql } = host;
  const { anchor, head, bytes, days } = chainOf(sql);
  const now = host.now();
  const rows = sql.exec<Row & { at: number; size: number }>(OLDEST, limit + 1).toArray();
  let remaining = bytes;
  let pruned = 0;
  for (const { sequence, at, size } of rows.slice(0, limit)) {
    const isTooMany = head - sequence >= MAX_RECORDED_CALLS || remaining > MAX_RECORDED_BYTES || !host.hasCapacity();
    if (!isTooMany && at + days * DAY_MS > now) break;
    remaining -= size;
    pruned += 1;
  }
  const last = rows[pruned - 1];
  if (last && last.sequence > anchor) {
    sql.exec("DELETE FROM recorded_calls WHERE sequence <= ?", last.sequence);
    sql.exec(
      "UPDATE recorded_call_chain SET anchor = ?, anchor_hash = ?, bytes = ?",
      last.sequence,
      last.hash,
      remaining,
    );
  }
  const next = rows[pruned];
  return next && Math.max(now + 1_000, pruned === limit ? 0 : next.at + days * DAY_MS);
}

function page(sql: SqlStorage, after: number): ReturnType<CallAuditMethods["page"]> {
  const { anchor, anchor_hash, head, head_hash } = chainOf(sql);
  const query = "SELECT sequence, text, hash FROM recorded_calls WHERE sequence > ? ORDER BY sequence LIMIT ?";
  return {
    anchor: { sequence: anchor, hash: anchor_hash },
    head: { sequence: head, hash: head_hash },
    calls: sql.exec<Row>(query, after, PAGE).toArray(),
  };
}
