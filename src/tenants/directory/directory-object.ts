// A shard of the directory: which tenants and hostnames exist. Isolates look up names that they do not know; the admin
// API adds, lists and removes entries. KV copies of the placements follow, in steps that are repeated until they are
// done.

import { DurableObject } from "cloudflare:workers";
import { logError } from "../../telemetry/error-line.ts";
import type { BlockedTool, BlockList } from "../object/policy-records.ts";
import { createTenantUid, type TenantUid } from "../object/tenant-uid.ts";
import { retryKvWrite } from "../object/retry-kv-write.ts";
import { migrate } from "../object/store.ts";
import { DIRECTORY_SCHEMA } from "./directory-schema.ts";
import { namespaceOf } from "./namespaces.ts";
import { placementKey, type Placement } from "./placement.ts";
import { SHARD_PREFIX, shardFor } from "./shards.ts";

export interface DirectoryEntry extends Placement {
  readonly id: string;
  readonly created: TenantUid;
  readonly state: "active" | "deleting";
  /** The last value that the tenant object reported, which may be some moments old. For lists only. */
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

/** A tenant as the directory has it. `created` null: a tenant in code, which has no entry. */
export interface DirectoryRef {
  readonly id: string;
  readonly created: TenantUid | null;
}

/** "unchanged": the hostname was the tenant's already. "gone": the tenant does not exist any more. */
export type ClaimResult = "claimed" | "unchanged" | "taken" | "gone";

/** The owner of a hostname. `tenantRevision`: the newest of the revisions that writes with this hostname were to replace. */
export interface HostnameClaim {
  readonly tenant: string;
  /** "": a tenant in code. */
  readonly created: TenantUid;
  readonly tenantRevision: number;
  /** How long ago the last claim was, in milliseconds. */
  readonly age: number;
}

export interface KnownTenants {
  readonly entries: readonly DirectoryEntry[];
  readonly declared: readonly string[];
}

interface ShardEnv {
  readonly BODIES: KVNamespace;
}

/** A page of the admin API, and one more. */
const MAX_PAGE = 1001;
/** How many values the alarm writes to KV. KV accepts a thousand operations in one invocation. */
const PLACEMENT_BATCH = 100;
const RETRY_MS = 10_000;
const ANY_REVISION = Number.MAX_SAFE_INTEGER;
const UNPLACED = "FROM tenants WHERE placement_in_kv = 0 AND state = 'active'";

/** Durable Object: a part of the list of all tenants, and of their hostnames. */
export class DirectoryObject extends DurableObject {
  protected readonly sql: SqlStorage;

  constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
    super(ctx, env);
    this.sql = ctx.storage.sql;
    // An object that only answers readiness checks stores nothing.
    if (ctx.id.name?.startsWith(SHARD_PREFIX)) void ctx.blockConcurrencyWhile(() => this.#open());
  }

  get #bindings(): ShardEnv {
    return this.env as unknown as ShardEnv;
  }

  async #open(): Promise<void> {
    this.ctx.storage.transactionSync(() => {
      migrate(this.sql, [DIRECTORY_SCHEMA]);
    });
    // Finishes work that an earlier instance left undone.
    if (this.#hasUnplaced()) await this.#scheduleAlarm();
  }

  /** Throws if no migration gave the class SQLite. */
  async ready(): Promise<void> {
    this.sql.exec("SELECT 1");
  }

  async lookup(id: string): Promise<Lookup> {
    const [row] = this.sql.exec<DirectoryRow>("SELECT * FROM tenants WHERE id = ?", id).toArray();
    return { entry: row ? directoryEntryOf(row) : null };
  }

  async lookupHostname(hostname: string): Promise<string | null> {
    const rows = this.sql.exec<{ tenant: string }>("SELECT tenant FROM hostnames WHERE hostname = ?", hostname);
    return rows.toArray()[0]?.tenant ?? null;
  }

  /** Adds a tenant in code, which no other list contains. Returns the blocks that apply to it from now on. */
  async declare(id: string): Promise<BlockList> {
    this.sql.exec("INSERT OR IGNORE INTO declared_tenants (id) VALUES (?)", id);
    return this.#blocks();
  }

  /** Stores the platform object's block list before any tenant has it. Returns the version that is stored. */
  async setBlocks({ version, blocks }: BlockList): Promise<number> {
    const list = JSON.stringify(blocks);
    this.sql.exec("UPDATE block_list SET version = ?1, list = ?2 WHERE version < ?1", version, list);
    return this.#blocks().version;
  }

  #blocks(): BlockList {
    const { version, list } = this.sql
      .exec<{ version: number; list: string }>("SELECT version, list FROM block_list")
      .one();
    return { version, blocks: JSON.parse(list) as BlockedTool[] };
  }

  /** Ids of tenants in code after `after`, in order. */
  async listDeclared(after: string | null, limit: number): Promise<readonly string[]> {
    return this.sql
      .exec<{ id: string }>(
        "SELECT id FROM declared_tenants WHERE id > ? ORDER BY id LIMIT ?",
        after ?? "",
        Math.min(limit, MAX_PAGE),
      )
      .toArray()
      .map(({ id }) => id);
  }

  /** Whether a tenant in code of this id was ever requested. */
  async isDeclared(id: string): Promise<boolean> {
    return this.sql.exec("SELECT 1 FROM declared_tenants WHERE id = ?", id).toArray().length > 0;
  }

  /** Splits these ids into created tenants, and tenants in code that were requested. */
  async findTenants(ids: readonly string[]): Promise<KnownTenants> {
    const where = "WHERE id IN (SELECT value FROM json_each(?))";
    const list = JSON.stringify(ids);
    const entries = this.sql.exec<DirectoryRow>(`SELECT * FROM tenants ${where}`, list).toArray();
    const declared = this.sql.exec<{ id: string }>(`SELECT id FROM declared_tenants ${where}`, list).toArray();
    return { entries: entries.map(directoryEntryOf), declared: declared.map(({ id }) => id) };
  }

  /**
   * Ends a tenant in code: from now on it is a tenant that is being deleted, whatever the author's function returns.
   */
  async endDeclared(id: string, created: TenantUid): Promise<DirectoryEntry> {
    this.sql.exec("DELETE FROM declared_tenants WHERE id = ?", id);
    this.sql.exec("INSERT OR IGNORE INTO tenants (id, created, state) VALUES (?, ?, 'deleting')", id, created);
    return directoryEntryOf(this.sql.exec<DirectoryRow>("SELECT * FROM tenants WHERE id = ?", id).one());
  }

  /**
   * Adds a tenant, unless its id is taken. This decides the tenant's uid. Returns the entry of the id, and the blocks
   * that apply from now on.
   */
  async add(
    id: string,
    placement: { jurisdiction: string | null; region: string | null },
  ): Promise<DirectoryEntry & { readonly blocks: BlockList }> {
    this.sql.exec(
      "INSERT OR IGNORE INTO tenants (id, created, state, jurisdiction, region) VALUES (?, ?, 'active', ?, ?)",
      id,
      createTenantUid(Date.now()),
      placement.jurisdiction,
      placement.region,
    );
    const entry = directoryEntryOf(this.sql.exec<DirectoryRow>("SELECT * FROM tenants WHERE id = ?", id).one());
    const blocks = this.#blocks();
    await this.#scheduleAlarm();
    return { ...entry, blocks };
  }

  /** Marks a tenant as ending: it is not served from now on, and its name is not free yet. */
  async markDeleting({ id, created }: DirectoryRef): Promise<void> {
    this.sql.exec("UPDATE tenants SET state = 'deleting' WHERE id = ? AND created = ?", id, created);
  }

  /** For lists only: the tenant object decides. An update with a lower version than the stored one is ignored. */
  async setSuspended({ id, created }: DirectoryRef, suspended: number, version: number): Promise<void> {
    const [row] = this.sql.exec<DirectoryRow>("SELECT * FROM tenants WHERE id = ?", id).toArray();
    if (row?.created !== created) return;
    const set = "UPDATE tenants SET suspended = ?, suspended_version = ? WHERE id = ? AND suspended_version < ?";
    this.sql.exec(set, suspended, version, id, version);
  }

  /** The entry is deleted last, so that an interrupted removal can be repeated. */
  async remove(ref: DirectoryRef): Promise<void> {
    const { id, created } = ref;
    if (!this.#hasTenant(ref)) return;
    const { BODIES } = this.#bindings;
    // If the placement was written within the same second, KV refuses the deletion once.
    await retryKvWrite(() => BODIES.delete(placementKey(id)));
    this.sql.exec("DELETE FROM tenants WHERE id = ? AND created = ?", id, created);
  }

  /** Whether the tenant exists and is not being deleted. */
  async isActive(ref: DirectoryRef): Promise<boolean> {
    return this.#hasTenant(ref, "AND state = 'active'");
  }

  /**
   * The hostname's shard decides the owner; the tenant's shard knows whether the tenant still exists. `tenantRevision`: the
   * revision that the document write replaces. While that write may still happen, the hostname is not released.
   */
  async claimHostname(hostname: string, ref: DirectoryRef, tenantRevision = 0): Promise<ClaimResult> {
    const uid = ref.created ?? "";
    const [owner] = this.sql
      .exec<{ tenant: string; created: string }>("SELECT tenant, created FROM hostnames WHERE hostname = ?", hostname)
      .toArray();
    if (owner && owner.tenant !== ref.id) return "taken";
    if (owner?.created === uid) {
      const count =
        "open_claims = iif(tenant_revision = ?1, open_claims + 1, iif(tenant_revision < ?1, 1, open_claims))";
      const update = `UPDATE hostnames SET ${count}, tenant_revision = max(tenant_revision, ?1), claimed_at = ?2 WHERE hostname = ?3`;
      this.sql.exec(update, tenantRevision, Date.now(), hostname);
      return "unchanged";
    }
    // An earlier or a later tenant of the same name has the hostname.
    if (owner && !(await this.#isTenantActive(ref))) return "gone";
    const set =
      "created = excluded.created, tenant_revision = excluded.tenant_revision, open_claims = 1, claimed_at = excluded.claimed_at";
    const claim = `INSERT INTO hostnames (hostname, tenant, created, tenant_revision, open_claims, claimed_at) VALUES (?, ?, ?, ?, 1, ?)
      ON CONFLICT (hostname) DO UPDATE SET ${set} WHERE tenant = excluded.tenant RETURNING 1`;
    const values = [hostname, ref.id, uid, tenantRevision, Date.now()];
    if (this.sql.exec(claim, ...values).toArray().length === 0) return "taken";
    if (owner) return owner.created === "" ? "unchanged" : "claimed";
    return this.#confirmClaim(hostname, ref);
  }

  /**
   * Releases a hostname, unless a pending write may still name it. `revision`: a revision of the tenant's document that
   * does not name it; absent: the tenant has ended. `withdrawn`: the `tenantRevision` of a claim whose write will not
   * happen.
   */
  async releaseHostname(
    hostname: string,
    { id, created }: DirectoryRef,
    revision = ANY_REVISION,
    withdrawn = -1,
  ): Promise<void> {
    const where = "WHERE hostname = ? AND tenant = ? AND created IN ('', ?)";
    const values = [hostname, id, created ?? ""];
    this.sql.exec(
      `UPDATE hostnames SET open_claims = open_claims - 1 ${where} AND tenant_revision = ? AND open_claims > 0`,
      ...values,
      withdrawn,
    );
    this.sql.exec(
      `DELETE FROM hostnames ${where} AND tenant_revision < iif(open_claims = 0, ? + 1, ?)`,
      ...values,
      revision,
      revision,
    );
  }

  async getHostnameClaim(hostname: string): Promise<HostnameClaim | null> {
    const query =
      "SELECT tenant, created, tenant_revision AS tenantRevision, ? - claimed_at AS age FROM hostnames WHERE hostname = ?";
    const [row] = this.sql.exec<{ tenant: string; created: string; tenantRevision: number; age: number }>(
      query,
      Date.now(),
      hostname,
    );
    return row ?? null;
  }

  /** Tenants of this shard with an id after `after`, in the order of ids. */
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

  /** Nothing is thrown, because the runtime drops an alarm that fails too often. */
  override async alarm(): Promise<void> {
    try {
      await this.#writePlacements();
      if (this.#hasUnplaced()) await this.#scheduleAlarm();
    } catch (error) {
      // The author's error hook is not known here, so the error goes to the Worker's log.
      logError(error, { method: "alarm directory" });
      await this.#scheduleAlarm(RETRY_MS);
    }
  }

  /**
   * Releases a new claim if the tenant ended meanwhile. If that cannot be known, the claim stays: other claims may rest
   * on it.
   */
  async #confirmClaim(hostname: string, ref: DirectoryRef): Promise<ClaimResult> {
    if (await this.#isTenantActive(ref)) return "claimed";
    await this.releaseHostname(hostname, ref);
    return "gone";
  }

  /** A tenant in code has no entry, so it counts as active. */
  async #isTenantActive(ref: DirectoryRef): Promise<boolean> {
    if (ref.created === null) return true;
    return shardFor(namespaceOf<DirectoryObject>(this.env, "DirectoryObject"), ref.id).isActive(ref);
  }

  /** Sets the alarm for now, or for `afterMs` later unless an alarm is set already. */
  async #scheduleAlarm(afterMs = 0): Promise<void> {
    const { storage } = this.ctx;
    if (afterMs === 0 || (await storage.getAlarm()) === null) await storage.setAlarm(Date.now() + afterMs);
  }

  #hasTenant({ id, created }: DirectoryRef, condition = ""): boolean {
    return (
      this.sql.exec(`SELECT 1 FROM tenants WHERE id = ? AND created = ? ${condition}`, id, created).toArray().length > 0
    );
  }

  #hasUnplaced(): boolean {
    return this.sql.exec(`SELECT 1 ${UNPLACED} LIMIT 1`).toArray().length > 0;
  }

  /** Writes some of the placements that KV does not have. */
  async #writePlacements(): Promise<void> {
    const { BODIES } = this.#bindings;
    const rows = this.sql.exec<DirectoryRow>(`SELECT * ${UNPLACED} LIMIT ?`, PLACEMENT_BATCH).toArray();
    await Promise.all(
      rows.map(async (row) => {
        const { id, created, jurisdiction, region } = row;
        await BODIES.put(placementKey(id), JSON.stringify({ created, jurisdiction, region }));
        this.sql.exec("UPDATE tenants SET placement_in_kv = 1 WHERE id = ? AND created = ?", id, created);
        // The tenant ended meanwhile: the deletion of the value may have come before this write.
        if (!this.#hasTenant({ id, created }, "AND state = 'active'"))
          await retryKvWrite(() => BODIES.delete(placementKey(id)));
      }),
    );
  }
}

/**
 * Methods that change nothing, or whose repetition has the same result. They are called again if the platform says that
 * the first call was lost.
 */
export const idempotentMethods: ReadonlySet<keyof DirectoryObject> = new Set([
  "lookup",
  "lookupHostname",
  "isDeclared",
  "list",
  "listDeclared",
  "findTenants",
  "add",
  "declare",
  "markDeleting",
  "setBlocks",
  "endDeclared",
  "remove",
]);

function directoryEntryOf(row: DirectoryRow): DirectoryEntry {
  return {
    id: row.id,
    created: row.created,
    state: row.state as DirectoryEntry["state"],
    isSuspended: row.suspended === 1,
    jurisdiction: row.jurisdiction,
    region: row.region,
  };
}
