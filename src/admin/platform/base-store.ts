// Base documents, and the tenants that extend them. The list of tenants may contain too many entries, never too few;
// the tenant's own document is decisive.

import { recordAudit } from "../../tenants/object/audit-log.ts";
import type { TenantDocument } from "../../tenants/document/tenant-document.ts";
import type { Actor } from "../../tenants/object/policy-records.ts";
import type { TenantUid } from "../../tenants/object/tenant-uid.ts";
import type { StoreHost, Store } from "../../tenants/object/store.ts";

export interface BaseRecord {
  readonly name: string;
  readonly revision: number;
  readonly document: TenantDocument;
  /** ISO 8601. */
  readonly changed: string;
}

/** A tenant by name and uid: a later tenant of the same name has uses of its own. */
export interface BaseUser {
  readonly id: string;
  readonly created: TenantUid;
}

export type BaseWriteResult =
  | { readonly state: "written"; readonly revision: number; readonly created: boolean }
  | { readonly state: "unchanged"; readonly revision: number }
  | { readonly state: "conflict"; readonly revision: number };

/** The documents in the order of the names, or the names that do not exist. */
export type ResolvedBases =
  | { readonly bases: readonly TenantDocument[] }
  | { readonly bases?: never; readonly missing: readonly string[] };

export interface BaseMethods {
  base(name: string): BaseRecord | undefined;
  bases(after: string, limit: number): readonly (Omit<BaseRecord, "document"> & { tenants: number })[];
  putBase(name: string, document: TenantDocument, ifRevision: number | null, actor: Actor): BaseWriteResult;
  /**
   * Removes a base that no tenant extends. Returns the number of tenants that still extend the base, which then
   * stays; 0: removed. null: there was no such base.
   */
  removeBase(name: string, actor: Actor): number | null;
  resolve(names: readonly string[]): ResolvedBases;
  /**
   * Like `resolve`, and records that the tenant extends these bases: they cannot be removed, and each rollout
   * includes the tenant. `baseRevision`: the tenant's revision that the write changes; 0 for a new tenant.
   */
  resolveAndUse(tenant: BaseUser, names: readonly string[], baseRevision?: number): ResolvedBases;
  /** Tenants that may extend the base, including those recorded by a write that was cut off. */
  listUsers(base: string, limit: number): readonly { readonly tenant: string; readonly created: string }[];
  /**
   * Records that since this revision the tenant extends these bases and no others. Uses of a write based on this
   * revision or a later one stay: that write settles them itself.
   */
  setUses(tenant: BaseUser, names: readonly string[], revision?: number): void;
  removeUse(base: string, tenant: BaseUser): void;
}

interface BaseRow {
  [column: string]: SqlStorageValue;
  name: string;
  revision: number;
  document: string;
  changed: string;
}

export const baseStore: Store<BaseMethods> = {
  name: "bases",
  methods: {
    base: { idempotent: true },
    bases: { idempotent: true },
    putBase: {},
    removeBase: {},
    resolve: { idempotent: true },
    resolveAndUse: { idempotent: true },
    listUsers: { idempotent: true },
    setUses: { idempotent: true },
    removeUse: { idempotent: true },
  },
  migrations: [
    `CREATE TABLE bases (name TEXT PRIMARY KEY, revision INTEGER NOT NULL, document TEXT NOT NULL,
       changed TEXT NOT NULL) WITHOUT ROWID`,
    `CREATE TABLE base_users (base TEXT NOT NULL, tenant TEXT NOT NULL, created TEXT NOT NULL, tenant_revision INTEGER NOT NULL DEFAULT 0,
       PRIMARY KEY (base, tenant, created)) WITHOUT ROWID`,
    "CREATE INDEX base_users_by_tenant ON base_users (tenant)",
  ],
  open: (host) => ({ methods: createBaseMethods(host) }),
};

function createBaseMethods(host: StoreHost): BaseMethods {
  const { sql } = host;
  return {
    base: (name) => findBase(sql, name),
    bases: (after, limit) =>
      sql
        .exec<Omit<BaseRow, "document"> & { tenants: number }>(
          `SELECT name, revision, changed, (SELECT count(DISTINCT tenant) FROM base_users WHERE base = name) AS tenants
             FROM bases WHERE name > ? ORDER BY name LIMIT ?`,
          after,
          limit,
        )
        .toArray() as unknown as (Omit<BaseRecord, "document"> & { tenants: number })[],
    putBase: (name, document, ifRevision, actor) =>
      host.transaction(() => putBase(host, { name, document, ifRevision, actor })),
    removeBase: (name, actor) =>
      host.transaction(() => {
        const before = findBase(sql, name);
        if (!before) return null;
        const counting = "SELECT count(DISTINCT tenant) AS uses FROM base_users WHERE base = ?";
        const uses = sql.exec<{ uses: number }>(counting, name).one();
        if (uses.uses > 0) return uses.uses;
        sql.exec("DELETE FROM bases WHERE name = ?", name);
        recordAudit(host, actor, ["base.delete", `base ${name}`], { before: before.document, after: null });
        return 0;
      }),
    resolve: (names) => resolve(sql, names),
    resolveAndUse: (tenant, names, baseRevision = 0) =>
      host.transaction(() => {
        const resolved = resolve(sql, names);
        if (resolved.bases) addUses(sql, tenant, names, baseRevision);
        return resolved;
      }),
    listUsers: (base, limit) =>
      sql
        .exec<{ tenant: string; created: string }>(
          "SELECT tenant, created FROM base_users WHERE base = ? LIMIT ?",
          base,
          limit,
        )
        .toArray(),
    setUses: (tenant, names, revision = Number.MAX_SAFE_INTEGER) => {
      host.transaction(() => {
        const deleteOlder = "DELETE FROM base_users WHERE tenant = ? AND created = ? AND tenant_revision < ?";
        sql.exec(deleteOlder, tenant.id, tenant.created, revision);
        // A late call for an older revision leaves these rows.
        addUses(sql, tenant, names, revision === Number.MAX_SAFE_INTEGER ? 0 : revision);
      });
    },
    removeUse: (base, { id, created }) => {
      sql.exec("DELETE FROM base_users WHERE base = ? AND tenant = ? AND created = ?", base, id, created);
    },
  };
}

function addUses(sql: SqlStorage, { id, created }: BaseUser, names: readonly string[], baseRevision: number): void {
  const query = `INSERT INTO base_users (base, tenant, created, tenant_revision) VALUES (?, ?, ?, ?)
    ON CONFLICT (base, tenant, created) DO UPDATE SET tenant_revision = max(tenant_revision, excluded.tenant_revision)`;
  for (const name of names) sql.exec(query, name, id, created, baseRevision);
}

function findBase(sql: SqlStorage, name: string): BaseRecord | undefined {
  const [row] = sql.exec<BaseRow>("SELECT * FROM bases WHERE name = ?", name).toArray();
  return row && { ...row, document: JSON.parse(row.document) as TenantDocument };
}

function resolve(sql: SqlStorage, names: readonly string[]): ResolvedBases {
  const bases = names.map((name) => ({ name, base: findBase(sql, name) }));
  const missing = bases.filter(({ base }) => !base).map(({ name }) => name);
  return missing.length > 0 ? { missing } : { bases: bases.flatMap(({ base }) => base?.document ?? []) };
}

interface BaseWrite {
  readonly name: string;
  readonly document: TenantDocument;
  /** The revision that must be current, 0 for none; null writes unconditionally. */
  readonly ifRevision: number | null;
  readonly actor: Actor;
}

function putBase(host: StoreHost, { name, document, ifRevision, actor }: BaseWrite): BaseWriteResult {
  const before = findBase(host.sql, name);
  const revision = before?.revision ?? 0;
  if (ifRevision !== null && ifRevision !== revision) return { state: "conflict", revision };
  const text = JSON.stringify(document);
  if (before && JSON.stringify(before.document) === text) return { state: "unchanged", revision };
  const changed = new Date(host.now()).toISOString();
  host.sql.exec(
    "INSERT OR REPLACE INTO bases (name, revision, document, changed) VALUES (?, ?, ?, ?)",
    name,
    revision + 1,
    text,
    changed,
  );
  recordAudit(host, actor, ["base.write", `base ${name}`], { before: before?.document ?? null, after: document });
  return { state: "written", revision: revision + 1, created: !before };
}
