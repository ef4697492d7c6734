// The walk of rollouts: so many tenants in each wake-up of the alarm, through the directory's shards one after another and round
// again, as long as a rollout has not come to every tenant. Every step may be repeated.

import { logFault } from "../../telemetry/fault-line.ts";
import type { TakenBlocks } from "../../tenants/authority/block-tables.ts";
import type { BlockList } from "../../tenants/authority/policy-records.ts";
import { isGone, WHOEVER } from "../../tenants/authority/incarnation.ts";
import { policyTables } from "../../tenants/authority/policy-tables.ts";
import { remote, type TableHost } from "../../tenants/authority/tables.ts";
import { allShards } from "../../tenants/directory/directory-stub.ts";
import { stubOf } from "../../tenants/directory/tenant-stub.ts";
import { askedAgain } from "../../tenants/isolate/asked-again.ts";
import { inTime } from "../../tenants/isolate/in-time.ts";
import { blockListIn, nextVersion, retryAt, type Reached, type Row } from "./rollout-rows.ts";

/** An invocation makes a thousand calls at most. */
const TENANTS_A_STEP = 500;
const TENANTS_AT_ONCE = 50;
const ANSWERED_WITHIN_MS = 5000;
/** The platform's own objects, or the directory, are tried again so much later. */
const RETRY_MS = 2000;
/** A tenant that could not be reached, at first. */
const FIRST_RETRY_MS = 30_000;

type ReachedRow = Reached & Row;

interface Position extends Row {
  round: number;
  /** Of 32: two lists of each shard, tenants that were made, then those in code. */
  place: number;
  after: string;
}

export function nextDue(host: TableHost): number | undefined {
  const { sql } = host;
  if (isUnderWay(sql)) return host.now();
  const query = "SELECT min(due) AS due FROM (SELECT due FROM unreached UNION ALL SELECT due FROM late_suspensions)";
  return sql.exec<{ due: number | null }>(query).one().due ?? undefined;
}

function isUnderWay(sql: SqlStorage): boolean {
  return sql.exec("SELECT 1 FROM rollouts WHERE walked = 0 AND base IS NULL LIMIT 1").toArray().length > 0;
}

/** Gives when the next one is due. */
export async function takeWalkStep(host: TableHost, now: number): Promise<number | undefined> {
  try {
    // Beside each other: a tenant that cannot be reached holds no other one up.
    await Promise.all([walk(host), suspendLate(host, now), visitUnreached(host, now)]);
    return nextDue(host);
  } catch (error) {
    // A shard of the directory is away, without which nobody knows who is in it.
    logFault(error, { method: "alarm rollouts" });
    return now + RETRY_MS;
  }
}

async function walk(host: TableHost): Promise<void> {
  for (let left = TENANTS_A_STEP; left > 0 && isUnderWay(host.sql);) {
    await noteInShards(host);
    left -= await visitPage(host, Math.min(TENANTS_AT_ONCE, left));
  }
}

const dueIn = (sql: SqlStorage, table: string, now: number) =>
  sql.exec<ReachedRow>(`SELECT * FROM ${table} WHERE due <= ? ORDER BY due LIMIT ?`, now, TENANTS_AT_ONCE).toArray();

interface LateRow extends ReachedRow {
  note: string;
  actor: string;
  version: number;
  begun: number;
}

async function suspendLate(host: TableHost, now: number): Promise<void> {
  const { sql } = host;
  await Promise.all(
    (dueIn(sql, "late_suspensions", now) as LateRow[]).map(async (late) => {
      const { id, created, note, actor, version } = late;
      const done = await asked(host, late, (policy) =>
        policy.suspendLate(note, { name: actor }, { version, inCode: created === "" }),
      );
      const own = "WHERE id = ? AND created = ? AND version = ?";
      if (done !== undefined) sql.exec(`DELETE FROM late_suspensions ${own}`, id, created, version);
      else {
        const due = retryAt(host.now(), late.begun, RETRY_MS);
        sql.exec(`UPDATE late_suspensions SET due = ? ${own}`, due, id, created, version);
      }
    }),
  );
}

async function visitUnreached(host: TableHost, now: number): Promise<void> {
  const { sql } = host;
  const due = dueIn(sql, "unreached", now);
  const list = blockListIn(sql);
  const visited = await Promise.all(due.map((one) => visit(host, list, one)));
  host.transaction(() => {
    for (const [at, { id, created, since, failed }] of due.entries()) {
      const taken = visited[at];
      if (taken === undefined) {
        const next = retryAt(host.now(), failed as number, FIRST_RETRY_MS);
        const set = "UPDATE unreached SET tries = tries + 1, due = ? WHERE id = ? AND created = ?";
        sql.exec(set, next, id, created);
        continue;
      }
      sql.exec("DELETE FROM unreached WHERE id = ? AND created = ?", id, created);
      const set = "UPDATE rollouts SET effective_at = max(effective_at, ?) WHERE version >= ? AND base IS NULL";
      sql.exec(set, host.now() + (taken?.leftMs ?? 0), since);
    }
  });
}

/** Before any tenant: one that is made, or in code and asked for first, has the list from then on. */
async function noteInShards(host: TableHost): Promise<void> {
  const { sql } = host;
  for (;;) {
    const list = blockListIn(sql);
    const { noted } = sql.exec<{ noted: number }>("SELECT noted FROM walk").one();
    if (noted === list.version) return;
    const held = await Promise.all(
      shardsOf(host).map((_shard, at) => inShard(host, at, (shard) => shard.noteBlocks(list))),
    );
    const highest = Math.max(...held);
    // Only if this object was set back in time.
    if (highest > list.version) nextVersion(host, highest);
    else sql.exec("UPDATE walk SET noted = ? WHERE version = ?", list.version, list.version);
  }
}

type Shard = ReturnType<typeof allShards>[number];

function shardsOf({ env }: TableHost): readonly Shard[] {
  return allShards(env as object);
}

/** `ask`: an idempotent call. */
function inShard<T>(host: TableHost, at: number, ask: (shard: Shard) => Promise<T>): Promise<T> {
  return inTime(askedAgain(() => ask(shardsOf(host)[at] as Shard)));
}

/** Gives how many were visited. */
async function visitPage(host: TableHost, limit: number): Promise<number> {
  const { sql } = host;
  const { round, place, after } = sql.exec<Position>("SELECT round, place, after FROM walk").one();
  const list = blockListIn(sql);
  const page = await pageOf(host, place, after, limit);
  const visited = await Promise.all(page.map((one) => visit(host, list, one)));
  const isLast = place === 2 * shardsOf(host).length - 1;
  const next = isLast ? { round: round + 1, place: 0, after: "" } : { round, place: place + 1, after: "" };
  const to = page.length < limit ? next : { round, place, after: page.at(-1)?.id ?? "" };
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
    const longest = Math.max(0, ...visited.map((taken) => taken?.leftMs ?? 0));
    const count = "tenants = tenants + ?, effective_at = max(effective_at, ?)";
    sql.exec(`UPDATE rollouts SET ${count} WHERE walked = 0 AND base IS NULL`, page.length, now + longest);
    sql.exec("UPDATE walk SET round = ?, place = ?, after = ?", to.round, to.place, to.after);
    const isWalked = "walked = 0 AND base IS NULL AND (round + 1, place, after) <= (?, ?, ?)";
    sql.exec(`UPDATE rollouts SET walked = 1 WHERE ${isWalked}`, to.round, to.place, to.after);
  });
  return page.length;
}

async function pageOf(host: TableHost, place: number, after: string, limit: number): Promise<readonly Reached[]> {
  const at = Math.floor(place / 2);
  if (place % 2 === 0) return inShard<readonly Reached[]>(host, at, (shard) => shard.list(after, limit));
  const ids = await inShard(host, at, (shard) => shard.listDeclared(after, limit));
  return ids.map((id) => ({ id, created: "", jurisdiction: null, region: null }));
}

/** null: the tenant ended; undefined: it could not be reached. */
async function visit(host: TableHost, list: BlockList, tenant: Reached): Promise<TakenBlocks | null | undefined> {
  const created = tenant.created === "" ? null : tenant.created;
  const taken = await asked(host, tenant, (policy) => policy.takeBlocks(list, created));
  if (!taken || taken.version <= list.version) return taken;
  // This object was set back in time: what it says now goes beyond what the tenant has.
  const again = host.transaction(() => {
    if (blockListIn(host.sql).version <= taken.version) nextVersion(host, taken.version);
    return blockListIn(host.sql);
  });
  return asked(host, tenant, (policy) => policy.takeBlocks(again, created));
}

type Policy = ReturnType<typeof policyOf>;

function policyOf({ env }: TableHost, { id, created, ...placement }: Reached) {
  const meant = { id, placement, incarnation: created === "" ? WHOEVER : created };
  return remote(stubOf(env as object, meant), policyTables);
}

async function asked<T>(
  host: TableHost,
  tenant: Reached,
  ask: (policy: Policy) => Promise<T>,
): Promise<T | null | undefined> {
  try {
    return await inTime(ask(policyOf(host, tenant)), ANSWERED_WITHIN_MS, tenant.id);
  } catch (error) {
    if (isGone(error)) return null;
    logFault(error, { tenant: tenant.id, method: "alarm rollouts" });
    return undefined;
  }
}
