// Owns looking up which tenants and hostnames exist: an isolate asks about names that it does not know. Each object has the
// names of a shard. Refuses to enter any, and everything else about a tenant: the tenant's own object has that.

import { DurableObject } from "cloudflare:workers";
import { hasTable } from "../authority/has-table.ts";
import type { Incarnation } from "../authority/incarnation.ts";
import type { Placement } from "./placement.ts";

export interface DirectoryEntry extends Placement {
  readonly id: string;
  readonly created: Incarnation;
  readonly state: "active" | "deleting";
  /** As the tenant's own object last said, some moments ago; for lists. */
  readonly isSuspended: boolean;
}

export interface Lookup {
  readonly entry: DirectoryEntry | null;
}

export interface DirectoryRow {
  [column: string]: SqlStorageValue;
  id: string;
  created: string;
  state: string;
  suspended: number;
  jurisdiction: string | null;
  region: string | null;
}

/** All that a Worker asks whose tenants are in its code. */
export class DirectoryLookups extends DurableObject {
  protected readonly sql: SqlStorage;
  /** Whether names are kept here. Where tenants can be entered they are in every shard, from the first time that it is asked. */
  protected isKeeping: boolean;

  constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
    super(ctx, env);
    this.sql = ctx.storage.sql;
    this.isKeeping = hasTable(this.sql, "tenants");
  }

  async ready(): Promise<void> {}

  async lookup(id: string): Promise<Lookup> {
    if (!this.isKeeping) return { entry: null };
    const [row] = this.sql.exec<DirectoryRow>("SELECT * FROM tenants WHERE id = ?", id).toArray();
    return { entry: row ? directoryEntryOf(row) : null };
  }

  async hostname(hostname: string): Promise<string | null> {
    if (!this.isKeeping) return null;
    const rows = this.sql.exec<{ tenant: string }>("SELECT tenant FROM hostnames WHERE hostname = ?", hostname);
    return rows.toArray()[0]?.tenant ?? null;
  }
}

export function directoryEntryOf(row: DirectoryRow): DirectoryEntry {
  return {
    id: row.id,
    created: row.created,
    state: row.state as DirectoryEntry["state"],
    isSuspended: row.suspended === 1,
    jurisdiction: row.jurisdiction,
    region: row.region,
  };
}
