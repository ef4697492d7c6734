// Owns looking up which tenants and hostnames exist: an isolate asks about names that it does not know. Refuses to enter
// any, and everything else about a tenant: the tenant's own object has that.

import { DurableObject } from "cloudflare:workers";
import type { Incarnation } from "../authority/incarnation.ts";

export interface DirectoryEntry {
  readonly id: string;
  readonly created: Incarnation;
  readonly state: "active" | "deleting";
  readonly isPrivate: boolean;
  /** As the tenant's own object last said, some moments ago; for lists. */
  readonly isSuspended: boolean;
  readonly jurisdiction: string | null;
  readonly region: string | null;
}

/** `anyPrivate`: some tenant's existence is secret, so nobody may learn which names are unknown. */
export interface Lookup {
  readonly entry: DirectoryEntry | null;
  readonly anyPrivate: boolean;
}

export interface DirectoryRow {
  [column: string]: SqlStorageValue;
  id: string;
  created: string;
  state: string;
  is_private: number;
  suspended: number;
  jurisdiction: string | null;
  region: string | null;
}

/** All that a Worker asks whose tenants are in its code. */
export class DirectoryLookups extends DurableObject {
  protected readonly sql: SqlStorage;

  constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
    super(ctx, env);
    this.sql = ctx.storage.sql;
    this.sql.exec(
      `CREATE TABLE IF NOT EXISTS tenants (id TEXT PRIMARY KEY, created TEXT NOT NULL, state TEXT NOT NULL,
         is_private INTEGER NOT NULL, jurisdiction TEXT, region TEXT) WITHOUT ROWID`,
    );
    this.sql.exec(
      "CREATE TABLE IF NOT EXISTS hostnames (hostname TEXT PRIMARY KEY, tenant TEXT NOT NULL) WITHOUT ROWID",
    );
    // Release 0.1.0 did not note which tenant of a name it was: whoever has the name may give the hostname up.
    this.#addColumn("hostnames", "created", "TEXT NOT NULL DEFAULT ''");
    // How often its object has said whether it is suspended, and what it said last.
    for (const name of ["told", "suspended"]) this.#addColumn("tenants", name, "INTEGER NOT NULL DEFAULT 0");
  }

  #addColumn(table: string, name: string, type: string): void {
    const known = this.sql.exec("SELECT 1 FROM pragma_table_info(?) WHERE name = ?", table, name).toArray();
    if (known.length === 0) this.sql.exec(`ALTER TABLE ${table} ADD COLUMN ${name} ${type}`);
  }

  async ready(): Promise<void> {}

  async lookup(id: string): Promise<Lookup> {
    const [row] = this.sql.exec<DirectoryRow>("SELECT * FROM tenants WHERE id = ?", id).toArray();
    const [hidden] = this.sql.exec("SELECT 1 FROM tenants WHERE is_private = 1 LIMIT 1").toArray();
    return { entry: row ? directoryEntryOf(row) : null, anyPrivate: hidden !== undefined };
  }

  async hostname(hostname: string): Promise<string | null> {
    const rows = this.sql.exec<{ tenant: string }>("SELECT tenant FROM hostnames WHERE hostname = ?", hostname);
    return rows.toArray()[0]?.tenant ?? null;
  }
}

export function directoryEntryOf(row: DirectoryRow): DirectoryEntry {
  return {
    id: row.id,
    created: row.created,
    state: row.state as DirectoryEntry["state"],
    isPrivate: row.is_private === 1,
    isSuspended: row.suspended === 1,
    jurisdiction: row.jurisdiction,
    region: row.region,
  };
}
