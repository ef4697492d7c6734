// Delivers rollouts: each alarm visits a batch of tenants, shard by shard of the directory and round again, until
// every rollout has reached every tenant. Every step may be repeated.

import { logError } from "../../telemetry/error-line.ts";
import type { AppliedBlocks } from "../../tenants/object/block-methods.ts";
import type { BlockList } from "../../tenants/object/policy-records.ts";
import { isUnknownTenant, ANY_UID } from "../../tenants/object/tenant-uid.ts";
import { policyStore } from "../../tenants/object/policy-store.ts";
import { createRpcClient, type StoreHost } from "../../tenants/object/store.ts";
import { allShards } from "../../tenants/directory/directory-stub.ts";
import { tenantStubOf } from "../../tenants/directory/tenant-stubs.ts";
import { retryIfIdempotent } from "../../tenants/cache/retry-if-idempotent.ts";
import { withTimeout } from "../../tenants/cache/with-timeout.ts";
import { readBlockList, nextVersion, retryAt, type TenantLocation, type SqlRow } from "./rollout-rows.ts";

/** An invocation may make at most a thousand calls. */
const TENANTS_PER_STEP = 500;
const TENANT_BATCH = 50;
const TENANT_TIMEOUT_MS = 5000;
/** Delay before a retry when the platform's own objects or the directory fail. */
const RETRY_MS = 2000;
/** First delay before a retry of a tenant that could not be reached. */
const FIRST_RETRY_MS = 30_000;

type TenantLocationRow = TenantLocation & SqlRow;

interface WalkPosition extends SqlRow {
  round: number;
  /** Index into 32 lists, two for each shard: created tenants, then tenants in code. */
  list_index: number;
  after: string;
}

export function nextWalkStepAt(host: StoreHost): number | undefined {
  const { sql } = host;
  if (hasRunningRollout(sql)) return host.now();
  const query =
    "SELECT min(due_at) AS due FROM (SELECT due_at FROM unreachable_tenants UNION ALL SELECT due_at FROM deferred_suspensions)";
  return sql.exec<{ due: number | null }>(query).one().due ?? undefined;
}

function hasRunningRollout(sql: SqlStorage): boolean {
  return sql.exec("SELECT 1 FROM rollouts WHERE visited_all = 0 AND base IS NULL LIMIT 1").toArray().length > 0;
}

/** Returns when the next step is due. */
export async function runWalkStep(host: StoreHost, now: number): Promise<number | undefined> {
  try {
    // In parallel: an unreachable tenant must not delay the others.
    await Promise.all([walkTenants(host), sendDeferredSuspensions(host, now), retryUnreached(host, now)]);
    return nextWalkStepAt(host);
  } catch (error) {
    // A directory shard is unavailable, so its tenants are unknown.
    logError(error, { method: "alarm rollouts" });
    return now + RETRY_MS;
  }
}

async function walkTenants(host: StoreHost): Promise<void> {
  for (let remaining = TENANTS_PER_STEP; remaining > 0 && hasRunningRollout(host.sql);) {
    await sendBlocksToShards(host);
    remaining -= await visitPage(host, Math.min(TENANT_BATCH, remaining));
  }
}

const dueRowsIn = (sql: SqlStorage, table: string, now: number) =>
  sql
    .exec<TenantLocationRow>(`SELECT * FROM ${table} WHERE due_at <= ? ORDER BY due_at LIMIT ?`, now, TENANT_BATCH)
    .toArray();

interface DeferredSuspensionRow extends TenantLocationRow {
  note: string;
  actor: string;
  version: number;
  requested_at: number;
}

async function sendDeferredSuspensions(host: StoreHost, now: number): Promise<void> {
  const { sql } = host;
  await Promise.all(
    (dueRowsIn(sql, "deferred_suspensions", now) as DeferredSuspensionRow[]).map(async (suspension) => {
      const { id, created, note, actor, version } = suspension;
      const result = await tryCallTenant(host, suspension, (policy) =>
        policy.suspendLate(note, { name: actor }, { version, inCode: created === "" }),
      );
      const own = "WHERE id = ? AND created = ? AND version = ?";
      if (result !== undefined) sql.exec(`DELETE FROM deferred_suspensions ${own}`, id, created, version);
      else {
        const due = retryAt(host.now(), suspension.requested_at, RETRY_MS);
        sql.exec(`UPDATE deferred_suspensions SET due_at = ? ${own}`, due, id, created, version);
      }
    }),
  );
}

async function retryUnreached(host: StoreHost, now: number): Promise<void> {
  const { sql } = host;
  const due = dueRowsIn(sql, "unreachable_tenants", now);
  const list = readBlockList(sql);
  const visited = await Promise.all(due.map((row) => sendBlocks(host, list, row)));
  host.transaction(() => {
    for (const [at, { id, created, since_version, failing_since }] of due.entries()) {
      const applied = visited[at];
      if (applied === undefined) {
        const next = retryAt(host.now(), failing_since as number, FIRST_RETRY_MS);
        const set = "UPDATE unreachable_tenants SET tries = tries + 1, due_at = ? WHERE id = ? AND created = ?";
        sql.exec(set, next, id, created);
        continue;
      }
      sql.exec("DELETE FROM unreachable_tenants WHERE id = ? AND created = ?", id, created);
      const set = "UPDATE rollouts SET effective_at = max(effective_at, ?) WHERE version >= ? AND base IS NULL";
      sql.exec(set, host.now() + (applied?.leftMs ?? 0), since_version);
    }
  });
}

/**
 * Updates the directory before any tenant: a new tenant, or one in code on its first request, then starts with the
 * current list.
 */
async function sendBlocksToShards(host: StoreHost): Promise<void> {
  const { sql } = host;
  for (;;) {
    const list = readBlockList(sql);
    const row = sql.exec<{ directory_version: number }>("SELECT directory_version FROM rollout_state").one();
    if (row.directory_version === list.version) return;
    const versions = await Promise.all(
      shardsOf(host).map((_shard, at) => callShard(host, at, (shard) => shard.setBlocks(list))),
    );
    const maxVersion = Math.max(...versions);
    // The shards are ahead only if this object was restored to an earlier time.
    if (maxVersion > list.version) nextVersion(host, maxVersion);
    else sql.exec("UPDATE rollout_state SET directory_version = ? WHERE version = ?", list.version, list.version);
  }
}

type Shard = ReturnType<typeof allShards>[number];

function shardsOf({ env }: StoreHost): readonly Shard[] {
  return allShards(env as object);
}

/** `invoke`: an idempotent call. */
function callShard<T>(host: StoreHost, at: number, invoke: (shard: Shard) => Promise<T>): Promise<T> {
  return withTimeout(retryIfIdempotent(() => invoke(shardsOf(host)[at] as Shard)));
}

/** Returns the number of tenants visited. */
async function visitPage(host: StoreHost, limit: number): Promise<number> {
  const { sql } = host;
  const query = "SELECT round, list_index, after FROM rollout_state";
  const { round, list_index: listIndex, after } = sql.exec<WalkPosition>(query).one();
  const list = readBlockList(sql);
  const page = await readTenantPage(host, listIndex, after, limit);
  const visited = await Promise.all(page.map((location) => sendBlocks(host, list, location)));
  const isLast = listIndex === 2 * shardsOf(host).length - 1;
  const next = isLast ? { round: round + 1, listIndex: 0, after: "" } : { round, listIndex: listIndex + 1, after: "" };
  const nextPosition = page.length < limit ? next : { round, listIndex, after: page.at(-1)?.id ?? "" };
  host.transaction(() => {
    const now = host.now();
    for (const [at, { id, created, jurisdiction, region }] of page.entries()) {
      if (visited[at] !== undefined) {
        sql.exec("DELETE FROM unreachable_tenants WHERE id = ? AND created = ?", id, created);
        continue;
      }
      sql.exec(
        `INSERT INTO unreachable_tenants (id, created, jurisdiction, region, since_version, failing_since, tries, due_at)
           SELECT ?, ?, ?, ?, min(version), ?, 1, ? FROM rollouts WHERE visited_all = 0 AND base IS NULL
           ON CONFLICT (id, created) DO UPDATE SET since_version = min(since_version, excluded.since_version), tries = 1, due_at = excluded.due_at`,
        id,
        created,
        jurisdiction,
        region,
        now,
        now + FIRST_RETRY_MS,
      );
    }
    const longest = Math.max(0, ...visited.map((applied) => applied?.leftMs ?? 0));
    const count = "tenants = tenants + ?, effective_at = max(effective_at, ?)";
    sql.exec(`UPDATE rollouts SET ${count} WHERE visited_all = 0 AND base IS NULL`, page.length, now + longest);
    sql.exec(
      "UPDATE rollout_state SET round = ?, list_index = ?, after = ?",
      nextPosition.round,
      nextPosition.listIndex,
      nextPosition.after,
    );
    const isWalked = "visited_all = 0 AND base IS NULL AND (round + 1, list_index, after) <= (?, ?, ?)";
    sql.exec(
      `UPDATE rollouts SET visited_all = 1 WHERE ${isWalked}`,
      nextPosition.round,
      nextPosition.listIndex,
      nextPosition.after,
    );
  });
  return page.length;
}

async function readTenantPage(
  host: StoreHost,
  listIndex: number,
  after: string,
  limit: number,
): Promise<readonly TenantLocation[]> {
  const at = Math.floor(listIndex / 2);
  if (listIndex % 2 === 0) return callShard<readonly TenantLocation[]>(host, at, (shard) => shard.list(after, limit));
  const ids = await callShard(host, at, (shard) => shard.listDeclared(after, limit));
  return ids.map((id) => ({ id, created: "", jurisdiction: null, region: null }));
}

/** null: the tenant was deleted; undefined: it could not be reached. */
async function sendBlocks(
  host: StoreHost,
  list: BlockList,
  tenant: TenantLocation,
): Promise<AppliedBlocks | null | undefined> {
  const created = tenant.created === "" ? null : tenant.created;
  const applied = await tryCallTenant(host, tenant, (policy) => policy.takeBlocks(list, created));
  if (!applied || applied.version <= list.version) return applied;
  // This object was restored to an earlier time, so its version must exceed the one that the tenant has.
  const latest = host.transaction(() => {
    if (readBlockList(host.sql).version <= applied.version) nextVersion(host, applied.version);
    return readBlockList(host.sql);
  });
  return tryCallTenant(host, tenant, (policy) => policy.takeBlocks(latest, created));
}

type Policy = ReturnType<typeof policyOf>;

function policyOf({ env }: StoreHost, { id, created, ...placement }: TenantLocation) {
  const ref = { id, placement, uid: created === "" ? ANY_UID : created };
  return createRpcClient(tenantStubOf(env as object, ref), policyStore);
}

async function tryCallTenant<T>(
  host: StoreHost,
  tenant: TenantLocation,
  invoke: (policy: Policy) => Promise<T>,
): Promise<T | null | undefined> {
  try {
    return await withTimeout(invoke(policyOf(host, tenant)), TENANT_TIMEOUT_MS, tenant.id);
  } catch (error) {
    if (isUnknownTenant(error)) return null;
    logError(error, { tenant: tenant.id, method: "alarm rollouts" });
    return undefined;
  }
}
