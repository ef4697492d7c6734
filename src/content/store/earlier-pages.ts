// Owns the content that releases up to 0.1.0 kept in a tenant's authority: handing it over to the object that keeps it
// now, page by page, and deleting it when it has arrived. Only Workers with the feature `earlierContent()` have it.

import { hasTable } from "../../tenants/authority/has-table.ts";
import { newestVersion, setChangeFact } from "../../tenants/authority/change-tables.ts";
import type { Tables } from "../../tenants/authority/tables.ts";
import type { TenantHost } from "../../tenants/authority/tenant-host.ts";
import type { Place } from "./admission.ts";

/** In the order in which they are handed over. */
export const EARLIER_PARTS = ["resources", "copies", "garbage", "collected", "changes"] as const;
export type EarlierPart = (typeof EARLIER_PARTS)[number];
export type EarlierRow = Readonly<Record<string, SqlStorageValue>>;

interface PartShape {
  /** The column by which its pages follow each other. */
  readonly by: string;
  readonly limit: number;
  readonly where?: string;
}

/** `limit`: so that a page is about 2 MB at most, and no page keeps a lease waiting. */
const SHAPES: Readonly<Record<EarlierPart, PartShape>> = {
  resources: { by: "id", limit: 200 },
  copies: { by: "hash", limit: 8 },
  garbage: { by: "hash", limit: 500 },
  collected: { by: "hash", limit: 500 },
  changes: { by: "version", limit: 500, where: "kind IN ('updated', 'listed', 'announced') AND " },
};

/** `resources` comes last: where it is, something is left to be handed over. */
const TABLES = ["resource_text", "resource_tags", "copies", "garbage", "collected", "resources"] as const;
const DROPPED_AT_ONCE = 500;

export interface EarlierMethods {
  /** Rows after the place `after`, null: the first; `next`: the place of the next page, null: there is none. */
  page(part: EarlierPart, after: Place): { readonly rows: readonly EarlierRow[]; readonly next: Place };
  /** Deletes some of what was handed over; whether nothing is left. */
  drop(): boolean;
}

export const earlierPages: Tables<EarlierMethods, TenantHost> = {
  name: "earlier-pages",
  migrations: [],
  open: (host) => ({ methods: methodsOf(host) }),
};

function methodsOf(host: TenantHost): EarlierMethods {
  const { sql } = host;
  const has = (table: string) => hasTable(sql, table);
  return {
    page: (part, after) => {
      const { by, limit, where = "" } = SHAPES[part];
      if (!has(part)) return { rows: [], next: null };
      const query = `SELECT * FROM ${part} WHERE ${where}${by} > ? ORDER BY ${by} LIMIT ${limit}`;
      // A number is below every text, and the other way round no row would be found.
      const rows = sql.exec<Record<string, SqlStorageValue>>(query, after ?? (by === "hash" ? "" : 0)).toArray();
      return { rows, next: rows.length < limit ? null : (rows.at(-1)?.[by] as Place) };
    },
    drop: () => host.transaction(() => dropSome(sql, has)),
  };
}

function dropSome(sql: SqlStorage, has: (table: string) => boolean): boolean {
  const table = TABLES.find(has);
  if (table === undefined) return dropChanges(sql);
  // The index of words is given up as a whole: to take out its texts one by one would only make it larger.
  const key = table === "resource_tags" ? "(tag, uri)" : table === "resources" ? "id" : "hash";
  const columns = key.replace(/[()]/g, "");
  const some = `DELETE FROM ${table} WHERE ${key} IN (SELECT ${columns} FROM ${table} LIMIT ${DROPPED_AT_ONCE}) RETURNING 1`;
  const isEmpty = table === "resource_text" || sql.exec(some).toArray().length < DROPPED_AT_ONCE;
  if (isEmpty) sql.exec(`DROP TABLE ${table}`);
  return false;
}

/** The versions of what stays go on from where they were. */
function dropChanges(sql: SqlStorage): boolean {
  setChangeFact(sql, "base", newestVersion(sql));
  const { where = "", limit } = SHAPES.changes;
  const some = `SELECT version FROM changes WHERE ${where}version > 0 ORDER BY version LIMIT ${limit}`;
  const gone = sql.exec(`DELETE FROM changes WHERE version IN (${some}) RETURNING 1`).toArray().length;
  if (gone === limit) return false;
  sql.exec("DELETE FROM schema_versions WHERE name = 'content'");
  return true;
}
