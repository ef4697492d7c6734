// Owns which tenants and hostnames exist. It is asked about names that an isolate does not know, and when tenants come
// and go. Refuses everything else about a tenant: the tenant's own object has that.

import { DurableObject } from "cloudflare:workers";

export interface DirectoryEntry {
  readonly id: string;
  /** ISO 8601. */
  readonly created: string;
  readonly state: "active" | "deleting";
  readonly isPrivate: boolean;
  readonly jurisdiction: string | null;
  readonly region: string | null;
}

/** `anyPrivate`: some tenant's existence is secret, so nobody may learn which names are unknown. */
export interface Lookup {
  readonly entry: DirectoryEntry | null;
  readonly anyPrivate: boolean;
}

interface Row {
  [column: string]: SqlStorageValue;
  id: string;
  created: string;
  state: string;
  is_private: number;
  jurisdiction: string | null;
  region: string | null;
}

const MAX_PAGE = 500;

export class DirectoryObject extends DurableObject {
  readonly #sql: SqlStorage;

  constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
    super(ctx, env);
    this.#sql = ctx.storage.sql;
    this.#sql.exec(
      `CREATE TABLE IF NOT EXISTS tenants (id TEXT PRIMARY KEY, created TEXT NOT NULL, state TEXT NOT NULL,
         is_private INTEGER NOT NULL, jurisdiction TEXT, region TEXT) WITHOUT ROWID`,
    );
    this.#sql.exec(
      "CREATE TABLE IF NOT EXISTS hostnames (hostname TEXT PRIMARY KEY, tenant TEXT NOT NULL) WITHOUT ROWID",
    );
  }

  async lookup(id: string): Promise<Lookup> {
    const [row] = this.#sql.exec<Row>("SELECT * FROM tenants WHERE id = ?", id).toArray();
    const [hidden] = this.#sql.exec("SELECT 1 FROM tenants WHERE is_private = 1 LIMIT 1").toArray();
    return { entry: row ? entryOf(row) : null, anyPrivate: hidden !== undefined };
  }

  async hostname(hostname: string): Promise<string | null> {
    const rows = this.#sql.exec<{ tenant: string }>("SELECT tenant FROM hostnames WHERE hostname = ?", hostname);
    return rows.toArray()[0]?.tenant ?? null;
  }

  /** false: the id is taken. */
  async add(id: string, about: { jurisdiction: string | null; region: string | null }): Promise<boolean> {
    const added = this.#sql.exec(
      "INSERT OR IGNORE INTO tenants (id, created, state, is_private, jurisdiction, region) VALUES (?, ?, 'active', 0, ?, ?) RETURNING id",
      id,
      new Date().toISOString(),
      about.jurisdiction,
      about.region,
    );
    return added.toArray().length > 0;
  }

  async mark(id: string, change: { isPrivate?: boolean; state?: "active" | "deleting" }): Promise<void> {
    if (change.isPrivate !== undefined) {
      this.#sql.exec("UPDATE tenants SET is_private = ? WHERE id = ?", change.isPrivate ? 1 : 0, id);
    }
    if (change.state !== undefined) this.#sql.exec("UPDATE tenants SET state = ? WHERE id = ?", change.state, id);
  }

  async remove(id: string): Promise<void> {
    this.#sql.exec("DELETE FROM tenants WHERE id = ?", id);
  }

  /** null: the hostname is this tenant's now. A text: the id of the tenant that has it. */
  async claimHostname(hostname: string, tenant: string): Promise<string | null> {
    const owner = await this.hostname(hostname);
    if (owner !== null) return owner === tenant ? null : owner;
    this.#sql.exec("INSERT INTO hostnames (hostname, tenant) VALUES (?, ?)", hostname, tenant);
    return null;
  }

  async releaseHostname(hostname: string, tenant: string): Promise<void> {
    this.#sql.exec("DELETE FROM hostnames WHERE hostname = ? AND tenant = ?", hostname, tenant);
  }

  /** Tenants with an id after `after`, in the order of ids. */
  async list(after: string | null, limit: number): Promise<readonly DirectoryEntry[]> {
    return this.#sql
      .exec<Row>("SELECT * FROM tenants WHERE id > ? ORDER BY id LIMIT ?", after ?? "", Math.min(limit, MAX_PAGE))
      .toArray()
      .map(entryOf);
  }
}

function entryOf(row: Row): DirectoryEntry {
  return {
    id: row.id,
    created: row.created,
    state: row.state as DirectoryEntry["state"],
    isPrivate: row.is_private === 1,
    jurisdiction: row.jurisdiction,
    region: row.region,
  };
}
