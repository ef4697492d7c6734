// Tools that operators block in every tenant. A rollout brings the whole list with its version to each tenant object.
// The object stores it apart from the tenant's own suspensions, and its leases enforce it.

import type { TenantUid } from "./tenant-uid.ts";
import type { BlockedTool, BlockList } from "./policy-records.ts";
import type { TenantHost } from "./tenant-host.ts";
import type { Suspension } from "../document/visibility.ts";

export interface AppliedBlocks {
  /** Higher than the version in the call if the platform object was restored to an earlier time. */
  readonly version: number;
  /** How long an isolate may serve the state before the change, in milliseconds. */
  readonly leftMs: number;
}

export interface BlockMethods {
  /**
   * `created`: the uid of the tenant, which may not be created yet; null: a tenant in code. Returns null for a deleted
   * tenant.
   */
  takeBlocks(list: BlockList, created: TenantUid | null): AppliedBlocks | null;
}

interface BlockRow extends BlockedTool {
  [column: string]: SqlStorageValue;
}

export function blocksIn(sql: SqlStorage): BlockedTool[] {
  return sql.exec<BlockRow>("SELECT name, note, since FROM blocks ORDER BY name").toArray();
}

/** The blocks as suspensions, as leases carry them. */
export function blockedTools(sql: SqlStorage): Suspension[] {
  return blocksIn(sql).map((block) => ({ kind: "tool", ...block }));
}

/** undefined: no list arrived yet. */
export function blocksVersion(sql: SqlStorage): number | undefined {
  return sql.exec<{ version: number }>("SELECT version FROM blocks_version").toArray()[0]?.version;
}

/** Call this in a transaction. Returns the stored version. */
export function storeBlocks(host: TenantHost, { version, blocks }: BlockList): number {
  const { sql } = host;
  const current = blocksVersion(sql);
  if (current !== undefined && current >= version) return current;
  sql.exec("INSERT OR REPLACE INTO blocks_version (one, version) VALUES (1, ?)", version);
  if (JSON.stringify(blocksIn(sql)) === JSON.stringify(blocks)) return version;
  sql.exec("DELETE FROM blocks");
  for (const { name, note, since } of blocks)
    sql.exec("INSERT INTO blocks (name, note, since) VALUES (?, ?, ?)", name, note, since);
  // A tenant that is being created has no policy yet, so there is nothing to announce.
  if (host.revision() > 0) host.incrementRevision();
  return version;
}

export function createBlockMethods(host: TenantHost): BlockMethods {
  const { deletion: closure } = host;
  return {
    takeBlocks: (list, created) => {
      // Another tenant of the name may be in the directory already, but not created yet.
      const isDeleted = created === null ? closure.isClosed() : closure.deletedUid() === created;
      if (isDeleted) return null;
      return { version: host.transaction(() => storeBlocks(host, list)), leftMs: host.leftMs() };
    },
  };
}
