// Owns base documents and which tenants extend them, and the tools that are blocked in every tenant. The list of
// tenants may name too many, never too few: what a tenant extends, its own document says.

import { recordAudit } from "../../tenants/authority/audit-log.ts";
import type { TenantDocument } from "../../tenants/document/tenant-document.ts";
import type { Actor } from "../../tenants/authority/policy-records.ts";
import type { TableHost, Tables } from "../../tenants/authority/tables.ts";

export interface BaseRecord {
  readonly name: string;
  readonly revision: number;
  readonly document: TenantDocument;
  /** ISO 8601. */
  readonly changed: string;
}

export interface BlockRecord {
  readonly name: string;
  readonly note: string;
  readonly since: string;
}

export type BaseWrite =
  | { readonly state: "written"; readonly revision: number; readonly created: boolean }
  | { readonly state: "unchanged"; readonly revision: number }
  | { readonly state: "conflict"; readonly revision: number };

/** The documents in the order of the names, or, if any is missing, the names that do not exist. */
export type BasesFound =
  | { readonly bases: readonly TenantDocument[] }
  | { readonly bases?: never; readonly missing: readonly string[] };

export interface BaseMethods {
  base(name: string): BaseRecord | undefined;
  bases(after: string, limit: number): readonly (Omit<BaseRecord, "document"> & { tenants: number })[];
  putBase(name: string, document: TenantDocument, ifRevision: number | null, actor: Actor): BaseWrite;
  /** How many tenants still extend the base, which then stays; 0: it is removed. null: there was none. */
  removeBase(name: string, actor: Actor): number | null;
  /** The documents of these bases. */
  resolve(names: readonly string[]): BasesFound;
  /** The same, and notes that the tenant extends these bases, so that none of them can be removed. */
  take(tenant: string, names: readonly string[]): BasesFound;
  /** Tenants that may extend the base: those that a write which was cut off noted are among them. */
  uses(base: string, limit: number): readonly string[];
  /** Notes that the tenant extends these bases and no others. */
  settle(tenant: string, names: readonly string[]): void;
  blocks(): readonly BlockRecord[];
  block(name: string, note: string, actor: Actor): boolean;
  unblock(name: string, actor: Actor): boolean;
}

interface BaseRow {
  [column: string]: SqlStorageValue;
  name: string;
  revision: number;
  document: string;
  changed: string;
}

export const baseTables: Tables<BaseMethods> = {
  name: "bases",
  migrations: [
    `CREATE TABLE bases (name TEXT PRIMARY KEY, revision INTEGER NOT NULL, document TEXT NOT NULL,
       changed TEXT NOT NULL) WITHOUT ROWID`,
    "CREATE TABLE base_uses (base TEXT NOT NULL, tenant TEXT NOT NULL, PRIMARY KEY (base, tenant)) WITHOUT ROWID",
    "CREATE INDEX base_uses_by_tenant ON base_uses (tenant)",
    "CREATE TABLE blocks (name TEXT PRIMARY KEY, note TEXT NOT NULL, since TEXT NOT NULL) WITHOUT ROWID",
  ],
  open: (host) => ({ methods: methodsOf(host) }),
};

function methodsOf(host: TableHost): BaseMethods {
  const { sql } = host;
  return {
    base: (name) => findBase(sql, name),
    bases: (after, limit) =>
      sql
        .exec<Omit<BaseRow, "document"> & { tenants: number }>(
          `SELECT name, revision, changed, (SELECT count(*) FROM base_uses WHERE base = name) AS tenants
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
        const uses = sql.exec<{ uses: number }>("SELECT count(*) AS uses FROM base_uses WHERE base = ?", name).one();
        if (uses.uses > 0) return uses.uses;
        sql.exec("DELETE FROM bases WHERE name = ?", name);
        recordAudit(host, actor, ["base.delete", `base ${name}`], { before: before.document, after: null });
        return 0;
      }),
    resolve: (names) => resolve(sql, names),
    take: (tenant, names) =>
      host.transaction(() => {
        const found = resolve(sql, names);
        if (found.bases) {
          for (const name of names)
            sql.exec("INSERT OR IGNORE INTO base_uses (base, tenant) VALUES (?, ?)", name, tenant);
        }
        return found;
      }),
    uses: (base, limit) =>
      sql
        .exec<{ tenant: string }>("SELECT tenant FROM base_uses WHERE base = ? LIMIT ?", base, limit)
        .toArray()
        .map((row) => row.tenant),
    settle: (tenant, names) => {
      host.transaction(() => {
        sql.exec("DELETE FROM base_uses WHERE tenant = ?", tenant);
        for (const name of names) sql.exec("INSERT INTO base_uses (base, tenant) VALUES (?, ?)", name, tenant);
      });
    },
    ...blockMethods(host),
  };
}

function findBase(sql: SqlStorage, name: string): BaseRecord | undefined {
  const [row] = sql.exec<BaseRow>("SELECT * FROM bases WHERE name = ?", name).toArray();
  return row && { ...row, document: JSON.parse(row.document) as TenantDocument };
}

function resolve(sql: SqlStorage, names: readonly string[]): BasesFound {
  const found = names.map((name) => ({ name, base: findBase(sql, name) }));
  const missing = found.filter(({ base }) => !base).map(({ name }) => name);
  return missing.length > 0 ? { missing } : { bases: found.flatMap(({ base }) => base?.document ?? []) };
}

export interface BasePut {
  readonly name: string;
  readonly document: TenantDocument;
  /** The revision that must be current, 0 for none; null writes whatever there is. */
  readonly ifRevision: number | null;
  readonly actor: Actor;
}

export function putBase(host: TableHost, { name, document, ifRevision, actor }: BasePut): BaseWrite {
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

function blockMethods(host: TableHost): Pick<BaseMethods, "blocks" | "block" | "unblock"> {
  const { sql } = host;
  const blocks = () =>
    sql.exec<{ name: string; note: string; since: string }>("SELECT * FROM blocks ORDER BY name").toArray();
  const find = (name: string) => blocks().find((block) => block.name === name);
  return {
    blocks,
    block: (name, note, actor) =>
      host.transaction(() => {
        const before = find(name);
        if (before?.note === note) return false;
        const since = new Date(host.now()).toISOString();
        sql.exec("INSERT OR REPLACE INTO blocks (name, note, since) VALUES (?, ?, ?)", name, note, since);
        recordAudit(host, actor, ["tool.block", `tool ${name}`], { before: before ?? null, after: { note } });
        return true;
      }),
    unblock: (name, actor) =>
      host.transaction(() => {
        const before = find(name);
        if (!before) return false;
        sql.exec("DELETE FROM blocks WHERE name = ?", name);
        recordAudit(host, actor, ["tool.unblock", `tool ${name}`], { before, after: null });
        return true;
      }),
  };
}
