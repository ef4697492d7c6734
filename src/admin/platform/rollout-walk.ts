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
  place: number;
  after: string;
}

export function nextWalkStepAt(host: StoreHost): number | undefined {
  const { sql } = host;
  if (hasRunningRollout(sql)) return host.now();
  const query = "SELECT min(due) AS due FROM (SELECT due FROM unreached UNION ALL SELECT due FROM late_suspensions)";
  return sql.exec<{ due: number | null }>(query).one().due ?? undefined;
}

function hasRunningRollout(sql: SqlStorage): boolean {
  return sql.exec("SELECT 1 FROM rollouts WHERE walked = 0 AND base IS NULL LIMIT 1").toArray().length > 0;
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
    .exec<TenantLocationRow>(`SELECT * FROM ${table} WHERE due <= ? ORDER BY due LIMIT ?`, now, TENANT_BATCH)
    .toArray();

interface DeferredSuspensionRow extends TenantLocationRow {
  note: string;
  actor: string;
  version: number;
  begun: number;
}

async function sendDeferredSuspensions(host: StoreHost, now: number): Promise<void> {
  const { sql } = host;
  await Promise.all(
    (dueRowsIn(sql, "late_suspensions", now) as DeferredSuspensionRow[]).map(async (suspension) => {
      const { id, created, note, actor, version } = suspension;
      const result = await tryCallTenant(host, suspension, (policy) =>
        policy.suspendLate(note, { name: actor }, { version, inCode: created === "" }),
      );
      const own = "WHERE id = ? AND created = ? AND version = ?";
      if (result !== undefined) sql.exec(`DELETE FROM late_suspensions ${own}`, id, created, version);
      else {
        const due = retryAt(host.now(), suspension.begun, RETRY_MS);
        sql.exec(`UPDATE late_suspensions SET due = ? ${own}`, due, id, created, version);
      }
    }),
  );
}

async function retryUnreached(host: StoreHost, now: number): Promise<void> {
  const { sql } = host;
  const due = dueRowsIn(sql, "unreached", now);
  const list = readBlockList(sql);
  const visited = await Promise.all(due.map((row) => sendBlocks(host, list, row)));
  host.transaction(() => {
    for (const [at, { id, created, since, failed }] of due.entries()) {
      const applied = visited[at];
      if (applied === undefined) {
        const next = retryAt(host.now(), failed as number, FIRST_RETRY_MS);
        const set = "UPDATE unreached SET tries = tries + 1, due = ? WHERE id = ? AND created = ?";
        sql.exec(set, next, id, created);
        continue;
      }
      sql.exec("DELETE FROM unreached WHERE id = ? AND created = ?", id, created);
      const set = "UPDATE rollouts SET effective_at = max(effective_at, ?) WHERE version >= ? AND base IS NULL";
      sql.exec(set, host.now() + (applied?.leftMs ?? 0), since);
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
    const { noted } = sql.exec<{ noted: number }>("SELECT noted FROM walk").one();
    if (noted === list.version) return;
    const versions = await Promise.all(
      shardsOf(host).map((_shard, at) => callShard(host, at, (shard) => shard.setBlocks(list))),
    );
    const maxVersion = Math.max(...versions);
    // The shards are ahead only if this object was restored to an earlier time.
    if (maxVersion > list.version) nextVersion(host, maxVersion);
    else sql.exec("UPDATE walk SET noted = ? WHERE version = ?", list.version, list.version);
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
  const { round, place, after } = sql.exec<WalkPosition>("SELECT round, place, after FROM walk").one();
  const list = readBlockList(sql);
  const page = await readTenantPage(host, place, after, limit);
  const visited = await Promise.all(page.map((location) => sendBlocks(host, list, location)));
  const isLast = place === 2 * shardsOf(host).length - 1;
  const next = isLast ? { round: round + 1, place: 0, after: "" } : { round, place: place + 1, after: "" };
  const nextPosition = page.length < limit ? next : { round, place, after: page.at(-1)?.id ?? "" };
  host.transaction(() => {
    const now = host.now();
    for (const [at, { id, created, jurisdiction, region }] of page.entries()) {
      if (visited[at] !== undefined) {
        sql.exec("DELETE FROM unreached WHERE id = ? AND created = ?", id, created);
        continue;
      }
      sql.exec(
        `INSERT INTO unreached (id, created, jurisdiction, region, since, failed, tries, due)
           SELECT ?, ?, ?, ?, min(version), ?, 1, ? FROM rollouts WHERE walked = 0 AND base IS NULL
           ON CONFLICT (id, created) DO UPDATE SET since = min(since, excluded.since), tries = 1, due = excluded.due`,
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
    sql.exec(`UPDATE rollouts SET ${count} WHERE walked = 0 AND base IS NULL`, page.length, now + longest);
    sql.exec(
      "UPDATE walk SET round = ?, place = ?, after = ?",
      nextPosition.round,
      nextPosition.place,
      nextPosition.after,
    );
    const isWalked = "walked = 0 AND base IS NULL AND (round + 1, place, after) <= (?, ?, ?)";
    sql.exec(
      `UPDATE rollouts SET walked = 1 WHERE ${isWalked}`,
      nextPosition.round,
      nextPosition.place,
      nextPosition.after,
    );
  });
  return page.length;
}

async function readTenantPage(
  host: StoreHost,
  place: number,
  after: string,
  limit: number,
): Promise<readonly TenantLocation[]> {
  const at = Math.floor(place / 2);
  if (place % 2 === 0) return callShard<readonly TenantLocation[]>(host, at, (shard) => shard.list(after, limit));
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
