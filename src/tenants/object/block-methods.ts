// The list of blocks that a rollout brings to every tenant: tools that operators stopped everywhere. A tenant's object keeps the
// list whole, with its version, apart from the tenant's own suspensions, and enforces it by its own lease.

import type { TenantUid } from "./tenant-uid.ts";
import type { BlockedTool, BlockList } from "./policy-records.ts";
import type { TenantHost } from "./tenant-host.ts";
import type { Suspension } from "../document/visibility.ts";

export interface AppliedBlocks {
  /** Higher than the one brought where the platform's object was set back in time. */
  readonly version: number;
  /** How long some isolate may serve what was before, milliseconds. */
  readonly leftMs: number;
}

export interface BlockMethods {
  /**
   * `created`: of the tenant that is meant, also before it is made; null: one in code. Gives null for a tenant that ended.
   */
  takeBlocks(list: BlockList, created: TenantUid | null): AppliedBlocks | null;
}

interface BlockRow extends BlockedTool {
  [column: string]: SqlStorageValue;
}

export function blocksIn(sql: SqlStorage): BlockedTool[] {
  return sql.exec<BlockRow>("SELECT name, note, since FROM blocks ORDER BY name").toArray();
}

/** The form in which leases carry them. */
export function blockedTools(sql: SqlStorage): Suspension[] {
  return blocksIn(sql).map((block) => ({ kind: "tool", ...block }));
}

/** undefined: none was brought yet. */
export function blocksVersion(sql: SqlStorage): number | undefined {
  return sql.exec<{ version: number }>("SELECT version FROM blocks_version").toArray()[0]?.version;
}

/** Call it in a transaction. Gives the version that is kept. */
export function storeBlocks(host: TenantHost, { version, blocks }: BlockList): number {
  const { sql } = host;
  const current = blocksVersion(sql);
  if (current !== undefined && current >= version) return current;
  sql.exec("INSERT OR REPLACE INTO blocks_version (one, version) VALUES (1, ?)", version);
  if (JSON.stringify(blocksIn(sql)) === JSON.stringify(blocks)) return version;
  sql.exec("DELETE FROM blocks");
  for (const { name, note, since } of blocks)
    sql.exec("INSERT INTO blocks (name, note, since) VALUES (?, ?, ?)", name, note, since);
  // A tenant that is being made has no policy yet, so there is nothing to announce.
  if (host.revision() > 0) host.incrementRevision();
  return version;
}

export function createBlockMethods(host: TenantHost): BlockMethods {
  const { deletion: closure } = host;
  return {
    takeBlocks: (list, created) => {
      // Another tenant of the name may be entered already and not made yet.
      const isDeleted = created === null ? closure.isClosed() : closure.deletedUid() === created;
      if (isDeleted) return null;
      return { version: host.transaction(() => storeBlocks(host, list)), leftMs: host.leftMs() };
    },
  };
}
