// Owns which tenants and hostnames exist. It is asked about names that an isolate does not know, and when tenants come
// and go. Refuses everything else about a tenant: the tenant's own object has that.

import { DurableObject } from "cloudflare:workers";
import { isEntered, newIncarnation, type Incarnation } from "../authority/incarnation.ts";

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

/** A tenant as it is entered; `created` null: in code, so it is not. */
export interface Named {
  readonly id: string;
  readonly created: Incarnation | null;
}

/** "kept": it was the tenant's already. "gone": there is no such tenant any more. */
export type Claimed = "claimed" | "kept" | "taken" | "gone";

interface Row {
  [column: string]: SqlStorageValue;
  id: string;
  created: string;
  state: string;
  is_private: number;
  suspended: number;
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
    // Release 0.1.0 did not note which tenant of a name it was: whoever has the name may give the hostname up.
    this.#addColumn("hostnames", "created", "TEXT NOT NULL DEFAULT ''");
    // How often its object has said whether it is suspended, and what it said last.
    for (const name of ["told", "suspended"]) this.#addColumn("tenants", name, "INTEGER NOT NULL DEFAULT 0");
  }

  #addColumn(table: string, name: string, type: string): void {
    const known = this.#sql.exec("SELECT 1 FROM pragma_table_info(?) WHERE name = ?", table, name).toArray();
    if (known.length === 0) this.#sql.exec(`ALTER TABLE ${table} ADD COLUMN ${name} ${type}`);
  }

  async ready(): Promise<void> {}

  async lookup(id: string): Promise<Lookup> {
    const [row] = this.#sql.exec<Row>("SELECT * FROM tenants WHERE id = ?", id).toArray();
    const [hidden] = this.#sql.exec("SELECT 1 FROM tenants WHERE is_private = 1 LIMIT 1").toArray();
    return { entry: row ? entryOf(row) : null, anyPrivate: hidden !== undefined };
  }

  async hostname(hostname: string): Promise<string | null> {
    const rows = this.#sql.exec<{ tenant: string }>("SELECT tenant FROM hostnames WHERE hostname = ?", hostname);
    return rows.toArray()[0]?.tenant ?? null;
  }

  /** Enters a tenant, unless its id is taken. This decides which tenant of the name it is. Gives the entry of the id. */
  async add(id: string, about: { jurisdiction: string | null; region: string | null }): Promise<DirectoryEntry> {
    this.#sql.exec(
      "INSERT OR IGNORE INTO tenants (id, created, state, is_private, jurisdiction, region) VALUES (?, ?, 'active', 0, ?, ?)",
      id,
      newIncarnation(Date.now()),
      about.jurisdiction,
      about.region,
    );
    return entryOf(this.#sql.exec<Row>("SELECT * FROM tenants WHERE id = ?", id).one());
  }

  async mark({ id, created }: Named, change: { isPrivate?: boolean; state?: "active" | "deleting" }): Promise<void> {
    const set = (column: string, value: SqlStorageValue) =>
      this.#sql.exec(`UPDATE tenants SET ${column} = ? WHERE id = ? AND created = ?`, value, id, created);
    if (change.isPrivate !== undefined) set("is_private", change.isPrivate ? 1 : 0);
    if (change.state !== undefined) set("state", change.state);
  }

  /** For lists alone: the tenant's own object decides. What comes later than a telling with a higher number is old. */
  async noteStanding({ id, created }: Named, suspended: number, version: number): Promise<void> {
    const [row] = this.#sql.exec<Row>("SELECT * FROM tenants WHERE id = ?", id).toArray();
    // Release 0.1.0 noted another time here than in the tenant's object.
    if (row?.created !== created && (isEntered(row?.created ?? "") || isEntered(created ?? ""))) return;
    const set = "UPDATE tenants SET suspended = ?, told = ? WHERE id = ? AND told < ?";
    this.#sql.exec(set, suspended, version, id, version);
  }

  async remove({ id, created }: Named): Promise<void> {
    this.#sql.exec("DELETE FROM tenants WHERE id = ? AND created = ?", id, created);
  }

  async claimHostname(hostname: string, { id, created }: Named): Promise<Claimed> {
    const known = this.#sql.exec("SELECT 1 FROM tenants WHERE id = ? AND created = ?", id, created).toArray();
    // A tenant in code is not entered here.
    if (created !== null && known.length === 0) return "gone";
    const [owner] = this.#sql
      .exec<{ tenant: string; created: string }>("SELECT tenant, created FROM hostnames WHERE hostname = ?", hostname)
      .toArray();
    if (owner && owner.tenant !== id) return "taken";
    const of = created ?? "";
    this.#sql.exec("INSERT OR REPLACE INTO hostnames (hostname, tenant, created) VALUES (?, ?, ?)", hostname, id, of);
    return owner && ["", of].includes(owner.created) ? "kept" : "claimed";
  }

  async releaseHostname(hostname: string, { id, created }: Named): Promise<void> {
    const query = "DELETE FROM hostnames WHERE hostname = ? AND tenant = ? AND created IN ('', ?)";
    this.#sql.exec(query, hostname, id, created ?? "");
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
    isSuspended: row.suspended === 1,
    jurisdiction: row.jurisdiction,
    region: row.region,
  };
}
