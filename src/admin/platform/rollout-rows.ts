// Rows and versions that all rollouts share.

import type { Actor, BlockedTool, BlockList } from "../../tenants/object/policy-records.ts";
import type { StoreHost } from "../../tenants/object/store.ts";
import type { Placement } from "../../tenants/directory/placement.ts";

/** A tenant to update. `created`: empty for a tenant in code. */
export interface TenantLocation extends Pick<Placement, "jurisdiction" | "region"> {
  readonly id: string;
  readonly created: string;
}

export interface SqlRow {
  [column: string]: SqlStorageValue;
}

export function readBlockList(sql: SqlStorage): BlockList {
  return {
    version: sql.exec<{ version: number }>("SELECT version FROM rollout_state").one().version,
    blocks: sql.exec<BlockedTool & SqlRow>("SELECT name, note, since FROM blocks ORDER BY name").toArray(),
  };
}

/**
 * A version is never reused, even if the storage is restored to an earlier time: the version is a time, or above
 * `minVersion`.
 */
export function nextVersion({ sql, now }: Pick<StoreHost, "sql" | "now">, minVersion = 0): number {
  const next = "UPDATE rollout_state SET version = max(version + 1, ?, ?) RETURNING version";
  return sql.exec<{ version: number }>(next, now(), minVersion + 1).one().version;
}

/** A time in the past on every clock: the alarm may run on a machine with another clock than this object's. */
export const DUE_NOW = 0;

const MAX_ROLLOUTS = 50;

/** Call in the transaction of the change. Returns the version. */
export function insertRollout(host: StoreHost, about: string, actor: Actor): number {
  const { sql } = host;
  const version = nextVersion(host);
  sql.exec(
    `INSERT INTO rollouts (version, about, actor, started, round, list_index, after)
       SELECT ?, ?, ?, ?, round, list_index, after FROM rollout_state`,
    version,
    about,
    actor.name,
    new Date(host.now()).toISOString(),
  );
  const old =
    "SELECT version FROM rollouts WHERE visited_all = 1 OR stopped = 1 ORDER BY version DESC LIMIT -1 OFFSET ?";
  sql.exec(`DELETE FROM rollout_outcomes WHERE version IN (${old})`, MAX_ROLLOUTS);
  sql.exec(`DELETE FROM rollouts WHERE version IN (${old})`, MAX_ROLLOUTS);
  host.scheduleAlarm(DUE_NOW);
  return version;
}

const MAX_RETRY_MS = 3_600_000;

/** When to retry after failures since that time: delays grow, up to an hour. */
export function retryAt(now: number, since: number, minMs: number): number {
  return now + Math.min(MAX_RETRY_MS, Math.max(minMs, (now - since) / 4));
}
