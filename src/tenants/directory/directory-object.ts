// Owns entering tenants and hostnames, and taking them out, when they come and go; and telling which there are. The admin API
// does that, so a Worker without it has the lookups alone.

import { isEntered, newIncarnation, type Incarnation } from "../authority/incarnation.ts";
import { DirectoryLookups, directoryEntryOf, type DirectoryEntry, type DirectoryRow } from "./lookups-object.ts";

/** A tenant as it is entered; `created` null: in code, so it is not. */
export interface Named {
  readonly id: string;
  readonly created: Incarnation | null;
}

/** "kept": it was the tenant's already. "gone": there is no such tenant any more. */
export type Claimed = "claimed" | "kept" | "taken" | "gone";

const MAX_PAGE = 500;

export class DirectoryObject extends DirectoryLookups {
  constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
    super(ctx, env);
    this.sql.exec("CREATE TABLE IF NOT EXISTS declared (id TEXT PRIMARY KEY, whole INTEGER NOT NULL) WITHOUT ROWID");
  }

  /**
   * Notes a tenant that the author's function declares: nothing else lists those. `isWhole`: what holds for every tenant holds
   * for it. Gives whether that was so before.
   */
  async declare(id: string, isWhole: boolean): Promise<boolean> {
    const set = isWhole ? "DO UPDATE SET whole = 1" : "DO NOTHING";
    this.sql.exec(`INSERT INTO declared (id, whole) VALUES (?, ?) ON CONFLICT (id) ${set}`, id, isWhole ? 1 : 0);
    return this.sql.exec<{ whole: number }>("SELECT whole FROM declared WHERE id = ?", id).one().whole === 1;
  }

  /** Ids of such tenants after `after`, in order. */
  async listDeclared(after: string | null, limit: number): Promise<readonly string[]> {
    return this.sql
      .exec<{ id: string }>(
        "SELECT id FROM declared WHERE id > ? ORDER BY id LIMIT ?",
        after ?? "",
        Math.min(limit, MAX_PAGE),
      )
      .toArray()
      .map(({ id }) => id);
  }

  /** Whether such a tenant was ever asked for. */
  async isDeclared(id: string): Promise<boolean> {
    return this.sql.exec("SELECT 1 FROM declared WHERE id = ?", id).toArray().length > 0;
  }

  /** Such a tenant ends: from now on it is a tenant that is being deleted, whatever the function says. */
  async endDeclared(id: string, created: Incarnation): Promise<DirectoryEntry> {
    this.sql.exec("DELETE FROM declared WHERE id = ?", id);
    const values = "VALUES (?, ?, 'deleting', 1)";
    this.sql.exec(`INSERT OR IGNORE INTO tenants (id, created, state, is_private) ${values}`, id, created);
    return directoryEntryOf(this.sql.exec<DirectoryRow>("SELECT * FROM tenants WHERE id = ?", id).one());
  }

  /** Enters a tenant, unless its id is taken. This decides which tenant of the name it is. Gives the entry of the id. */
  async add(id: string, about: { jurisdiction: string | null; region: string | null }): Promise<DirectoryEntry> {
    this.sql.exec(
      "INSERT OR IGNORE INTO tenants (id, created, state, is_private, jurisdiction, region) VALUES (?, ?, 'active', 0, ?, ?)",
      id,
      newIncarnation(Date.now()),
      about.jurisdiction,
      about.region,
    );
    return directoryEntryOf(this.sql.exec<DirectoryRow>("SELECT * FROM tenants WHERE id = ?", id).one());
  }

  async mark({ id, created }: Named, change: { isPrivate?: boolean; state?: "active" | "deleting" }): Promise<void> {
    const set = (column: string, value: SqlStorageValue) =>
      this.sql.exec(`UPDATE tenants SET ${column} = ? WHERE id = ? AND created = ?`, value, id, created);
    if (change.isPrivate !== undefined) set("is_private", change.isPrivate ? 1 : 0);
    if (change.state !== undefined) set("state", change.state);
  }

  /** For lists alone: the tenant's own object decides. What comes later than a telling with a higher number is old. */
  async noteStanding({ id, created }: Named, suspended: number, version: number): Promise<void> {
    const [row] = this.sql.exec<DirectoryRow>("SELECT * FROM tenants WHERE id = ?", id).toArray();
    // Release 0.1.0 noted another time here than in the tenant's object.
    if (row?.created !== created && (isEntered(row?.created ?? "") || isEntered(created ?? ""))) return;
    const set = "UPDATE tenants SET suspended = ?, told = ? WHERE id = ? AND told < ?";
    this.sql.exec(set, suspended, version, id, version);
  }

  async remove({ id, created }: Named): Promise<void> {
    this.sql.exec("DELETE FROM tenants WHERE id = ? AND created = ?", id, created);
  }

  async claimHostname(hostname: string, { id, created }: Named): Promise<Claimed> {
    const known = this.sql.exec("SELECT 1 FROM tenants WHERE id = ? AND created = ?", id, created).toArray();
    // A tenant in code is not entered here.
    if (created !== null && known.length === 0) return "gone";
    const [owner] = this.sql
      .exec<{ tenant: string; created: string }>("SELECT tenant, created FROM hostnames WHERE hostname = ?", hostname)
      .toArray();
    if (owner && owner.tenant !== id) return "taken";
    const of = created ?? "";
    this.sql.exec("INSERT OR REPLACE INTO hostnames (hostname, tenant, created) VALUES (?, ?, ?)", hostname, id, of);
    return owner && ["", of].includes(owner.created) ? "kept" : "claimed";
  }

  async releaseHostname(hostname: string, { id, created }: Named): Promise<void> {
    const query = "DELETE FROM hostnames WHERE hostname = ? AND tenant = ? AND created IN ('', ?)";
    this.sql.exec(query, hostname, id, created ?? "");
  }

  /** Tenants with an id after `after`, in the order of ids. */
  async list(after: string | null, limit: number): Promise<readonly DirectoryEntry[]> {
    return this.sql
      .exec<DirectoryRow>(
        "SELECT * FROM tenants WHERE id > ? ORDER BY id LIMIT ?",
        after ?? "",
        Math.min(limit, MAX_PAGE),
      )
      .toArray()
      .map(directoryEntryOf);
  }
}
