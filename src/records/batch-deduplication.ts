// Remembers which batches a tenant object has accepted, so that a repeated batch is not counted twice.

import type { TenantHost } from "../tenants/object/tenant-host.ts";
import type { BatchId } from "./call-batches.ts";

const MAX_SOURCES = 10_000;
/** An isolate that holds a batch for longer than this has ended. */
const RETENTION_MS = 86_400_000;

/** `table`: the table of the domain that accepts the batches. */
export function batchMigration(table: string): string {
  return `CREATE TABLE ${table} (source TEXT PRIMARY KEY, sequence INTEGER NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID`;
}

export function isBatchRecorded(sql: SqlStorage, table: string, { source, sequence }: BatchId): boolean {
  const [known] = sql.exec<{ sequence: number }>(`SELECT sequence FROM ${table} WHERE source = ?`, source).toArray();
  return known !== undefined && known.sequence >= sequence;
}

/** Call this in the transaction that stores the batch. false: the batch was already accepted. */
export function recordBatch(host: Pick<TenantHost, "sql" | "now">, table: string, batch: BatchId): boolean {
  const { sql } = host;
  if (isBatchRecorded(sql, table, batch)) return false;
  const { source, sequence } = batch;
  const upsert = `INSERT INTO ${table} (source, sequence, at) VALUES (?, ?, ?)
    ON CONFLICT (source) DO UPDATE SET sequence = excluded.sequence, at = excluded.at`;
  sql.exec(upsert, source, sequence, host.now());
  return true;
}

export function pruneBatchSources(host: Pick<TenantHost, "sql" | "now">, table: string): void {
  const { sql } = host;
  sql.exec(`DELETE FROM ${table} WHERE at < ?`, host.now() - RETENTION_MS);
  sql.exec(
    `DELETE FROM ${table} WHERE source NOT IN (SELECT source FROM ${table} ORDER BY at DESC LIMIT ?)`,
    MAX_SOURCES,
  );
}
