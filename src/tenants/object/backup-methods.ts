// The rows of a backup besides the document: API keys by hash, suspensions, and sealed secrets. A restore inserts
// missing rows in one transaction. It never changes existing rows, because the tenant may have gone on since the
// backup.

import type { Suspension } from "../document/visibility.ts";
import type { Actor } from "./policy-records.ts";
import type { TenantHost } from "./tenant-host.ts";

/** Times are milliseconds since the epoch; `created` is ISO 8601. */
export interface BackupKey {
  readonly id: string;
  /** A restored hash admits callers with the key's token. */
  readonly hash: string;
  readonly name: string;
  /** JSON, as stored. */
  readonly scopes?: string;
  readonly profile?: string;
  readonly created: string;
  readonly expires?: number;
  readonly retires?: number;
  readonly parent?: string;
}

export interface BackupSuspension extends Suspension {
  /** 1: by a platform operator. 0: by a tenant-admin. */
  readonly by_operator: number;
}

export interface BackupRows {
  readonly keys: readonly BackupKey[];
  readonly suspensions: readonly BackupSuspension[];
  readonly secrets: readonly { readonly name: string; readonly sealed: string; readonly updated: string }[];
}

export interface BackupMethods {
  backup(): BackupRows;
  /** Returns how many rows were restored. */
  restore(backup: BackupRows, actor: Actor): number;
}

const COLUMNS = {
  keys: ["api_keys", "id, hash, name, scopes, profile, created, expires, retires, parent"],
  suspensions: ["suspensions", "kind, name, note, since, by_operator"],
  secrets: ["secrets", "name, sealed, updated"],
} as const satisfies Record<keyof BackupRows, readonly [table: string, columns: string]>;

const PARTS = Object.entries(COLUMNS) as [keyof BackupRows, (typeof COLUMNS)[keyof BackupRows]][];

export function createBackupMethods(host: TenantHost): BackupMethods {
  const { sql } = host;
  const rowsOf = ([part, [table, columns]]: (typeof PARTS)[number]) => {
    const rows = sql.exec(`SELECT ${columns} FROM ${table}`).toArray();
    return [part, rows.map((row) => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)))];
  };
  return {
    backup: () => Object.fromEntries(PARTS.map(rowsOf)) as BackupRows,
    restore: (backup, actor) =>
      host.transaction(() => {
        if (host.deletion.isClosed() || host.revision() === 0) return 0;
        let count = 0;
        for (const [part, [table, columns]] of PARTS) {
          const names = columns.split(", ");
          const insert = `INSERT OR IGNORE INTO ${table} (${columns}) VALUES (${names.map(() => "?").join()})`;
          for (const row of backup[part]) {
            const values = names.map((name) => (row as unknown as Record<string, SqlStorageValue>)[name] ?? null);
            count += sql.exec(`${insert} RETURNING 1`, ...values).toArray().length;
          }
        }
        if (count === 0) return 0;
        host.record(actor, "restore", "tenant", { before: null, after: { rows: count } });
        // The alarm syncs a suspension to the directory, and prunes keys that have ended.
        host.scheduleAlarm(host.now());
        host.incrementRevision({});
        return count;
      }),
  };
}
