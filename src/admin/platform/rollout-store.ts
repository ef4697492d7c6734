// Rollouts of settings for many tenants: the block list, base documents, and suspensions of tenants whose objects did
// not answer. This store records each of them, and the alarm delivers them to the tenant objects, which enforce them.

import { recordAudit } from "../../tenants/object/audit-log.ts";
import type { Actor, BlockedTool, BlockList } from "../../tenants/object/policy-records.ts";
import type { StoreHost, Store } from "../../tenants/object/store.ts";
import {
  createBaseRolloutMethods,
  outcomeMigrations,
  startDueBaseSteps,
  nextBaseStepAt,
  getOutcomes,
  type BaseRolloutMethods,
  type RolloutHost,
  type RolloutOutcomes,
} from "./base-rollouts.ts";
import {
  DUE_NOW,
  readBlockList,
  insertRollout,
  nextVersion,
  type TenantLocation,
  type SqlRow,
} from "./rollout-rows.ts";
import { nextWalkStepAt, runWalkStep } from "./rollout-walk.ts";

export interface StartedRollout {
  /** false: the setting was the same already; it is delivered to every tenant again. */
  readonly changed: boolean;
  readonly version: number;
}

/**
 * "incomplete": some tenants could not be reached in two tries, or refused the base. Unreachable tenants are retried
 * with growing delays, at least hourly.
 */
export type RolloutState = "running" | "done" | "incomplete" | "stopped";

export interface RolloutRecord {
  readonly version: number;
  readonly about: string;
  readonly state: RolloutState;
  readonly actor: string;
  /** ISO 8601. */
  readonly begun: string;
  /** The number of tenants visited so far. */
  readonly tenants: number;
  /** Milliseconds until the change is in effect in the tenants visited so far. */
  readonly leftMs: number;
  /** Ids of tenants that could not be reached, the first hundred. */
  readonly missing: readonly string[];
  readonly refused: RolloutOutcomes["refused"];
  /** Only for a dry run. */
  readonly changes?: RolloutOutcomes["changes"];
}

/** The settings on their way to a tenant, as far as this object knows. */
export interface PendingPlatformState extends BlockList {
  readonly suspension: { readonly note: string; readonly since: string } | null;
}

export interface RolloutMethods extends BaseRolloutMethods {
  blocks(): readonly BlockedTool[];
  block(name: string, note: string, actor: Actor): StartedRollout;
  unblock(name: string, actor: Actor): StartedRollout;
  rollout(version: number): RolloutRecord | undefined;
  rollouts(before: number | null, limit: number): readonly RolloutRecord[];
  getPending(id: string, created: string): PendingPlatformState;
  /** Suspends a tenant whose object does not answer, as soon as it does. */
  deferSuspension(tenant: TenantLocation, note: string, actor: Actor): void;
  /** The tenant is resumed. A deferred suspension older than the returned version no longer applies. */
  cancelDeferredSuspension(id: string, created: string): StartedRollout;
}

export const rolloutStore: Store<RolloutMethods, RolloutHost> = {
  name: "rollouts",
  methods: {
    blocks: { idempotent: true },
    block: { idempotent: true },
    unblock: { idempotent: true },
    rollout: { idempotent: true },
    rollouts: { idempotent: true },
    getPending: { idempotent: true },
    deferSuspension: { idempotent: true },
    cancelDeferredSuspension: { idempotent: true },
    startRollout: {},
    nextPage: {},
    reportOutcomes: { idempotent: true },
    continueLater: { idempotent: true },
    stopRollout: { idempotent: true },
  },
  migrations: [
    "CREATE TABLE blocks (name TEXT PRIMARY KEY, note TEXT NOT NULL, since TEXT NOT NULL) WITHOUT ROWID",
    // `directory_version`: the version that every shard of the directory has. The rest is the position of the walk
    // through the tenants: its round, the list within the shards, and the last id.
    `CREATE TABLE rollout_state (one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER NOT NULL, directory_version INTEGER NOT NULL,
       round INTEGER NOT NULL, list_index INTEGER NOT NULL, after TEXT NOT NULL)`,
    "INSERT INTO rollout_state VALUES (1, 0, 0, 0, 0, '')",
    // `round`, `list_index` and `after`: the position of the walk when the rollout was recorded; the walk has visited
    // every tenant when it returns there. `base` and the columns after it belong to rollouts of a base. `due_at`: when
    // the next step begins, milliseconds since the epoch; NULL: never.
    `CREATE TABLE rollouts (version INTEGER PRIMARY KEY, about TEXT NOT NULL, actor TEXT NOT NULL, started TEXT NOT NULL,
       round INTEGER NOT NULL, list_index INTEGER NOT NULL, after TEXT NOT NULL, visited_all INTEGER NOT NULL DEFAULT 0,
       tenants INTEGER NOT NULL DEFAULT 0, effective_at INTEGER NOT NULL DEFAULT 0,
       base TEXT, dry_run INTEGER NOT NULL DEFAULT 0, stopped INTEGER NOT NULL DEFAULT 0, due_at INTEGER)`,
    "CREATE INDEX rollouts_running ON rollouts (version) WHERE visited_all = 0",
    // Tenants that could not be reached. `since_version`: the oldest rollout that the tenant lacks.
    `CREATE TABLE unreachable_tenants (id TEXT NOT NULL, created TEXT NOT NULL, jurisdiction TEXT, region TEXT, since_version INTEGER NOT NULL,
       failing_since INTEGER NOT NULL, tries INTEGER NOT NULL, due_at INTEGER NOT NULL, PRIMARY KEY (id, created)) WITHOUT ROWID`,
    "CREATE INDEX unreachable_tenants_by_due ON unreachable_tenants (due_at)",
    `CREATE TABLE deferred_suspensions (id TEXT NOT NULL, created TEXT NOT NULL, jurisdiction TEXT, region TEXT, note TEXT NOT NULL,
       actor TEXT NOT NULL, version INTEGER NOT NULL, requested_at INTEGER NOT NULL, due_at INTEGER NOT NULL,
       PRIMARY KEY (id, created)) WITHOUT ROWID`,
    ...outcomeMigrations,
  ],
  open: (host) => {
    for (const next of [nextWalkStepAt(host), nextBaseStepAt(host.sql)])
      if (next !== undefined) host.scheduleAlarm(next);
    return {
      methods: { ...createRolloutMethods(host), ...createBaseRolloutMethods(host) },
      alarm: async (now) => {
        startDueBaseSteps(host, now);
        const next = [await runWalkStep(host, now), nextBaseStepAt(host.sql)].filter((time) => time !== undefined);
        return next.length === 0 ? undefined : Math.min(...next);
      },
    };
  },
};

function createRolloutMethods(host: StoreHost): Omit<RolloutMethods, keyof BaseRolloutMethods> {
  const { sql } = host;
  const find = (name: string) => readBlockList(sql).blocks.find((block) => block.name === name);
  return {
    blocks: () => readBlockList(sql).blocks,
    block: (name, note, actor) =>
      host.transaction(() => {
        const before = find(name);
        const changed = before?.note !== note;
        if (changed) {
          const since = new Date(host.now()).toISOString();
          sql.exec("INSERT OR REPLACE INTO blocks (name, note, since) VALUES (?, ?, ?)", name, note, since);
          recordAudit(host, actor, ["tool.block", `tool ${name}`], { before: before ?? null, after: { note } });
        }
        return { changed, version: insertRollout(host, `block ${name}`, actor) };
      }),
    unblock: (name, actor) =>
      host.transaction(() => {
        const before = find(name);
        if (before) {
          sql.exec("DELETE FROM blocks WHERE name = ?", name);
          recordAudit(host, actor, ["tool.unblock", `tool ${name}`], { before, after: null });
        }
        return { changed: before !== undefined, version: insertRollout(host, `unblock ${name}`, actor) };
      }),
    rollout: (version) => {
      const [row] = sql.exec<RolloutRow>("SELECT * FROM rollouts WHERE version = ?", version).toArray();
      return row && toRolloutRecord(host, row);
    },
    rollouts: (before, limit) =>
      sql
        .exec<RolloutRow>(
          "SELECT * FROM rollouts WHERE version < ? ORDER BY version DESC LIMIT ?",
          before ?? Number.MAX_SAFE_INTEGER,
          limit,
        )
        .toArray()
        .map((row) => toRolloutRecord(host, row)),
    getPending: (id, created) => {
      const query = "SELECT note, requested_at FROM deferred_suspensions WHERE id = ? AND created = ?";
      const [deferred] = sql.exec<{ note: string; requested_at: number }>(query, id, created).toArray();
      const suspension = deferred
        ? { note: deferred.note, since: new Date(deferred.requested_at).toISOString() }
        : null;
      return { ...readBlockList(sql), suspension };
    },
    deferSuspension: ({ id, created, jurisdiction, region }, note, actor) => {
      host.transaction(() => {
        const now = host.now();
        const columns = "(id, created, jurisdiction, region, note, actor, version, requested_at, due_at)";
        sql.exec(
          `INSERT OR REPLACE INTO deferred_suspensions ${columns} VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
          id,
          created,
          jurisdiction,
          region,
          note,
          actor.name,
          nextVersion(host),
          now,
          DUE_NOW,
        );
        recordAudit(host, actor, ["tenant.suspend", `tenant ${id}`], { before: null, after: { note } });
        host.scheduleAlarm(DUE_NOW);
      });
    },
    cancelDeferredSuspension: (id, created) =>
      host.transaction(() => {
        const deleteDeferred = "DELETE FROM deferred_suspensions WHERE id = ? AND created = ? RETURNING id";
        const changed = sql.exec(deleteDeferred, id, created).toArray().length > 0;
        return { changed, version: nextVersion(host) };
      }),
  };
}

interface RolloutRow extends SqlRow {
  version: number;
  about: string;
  actor: string;
  started: string;
  visited_all: number;
  tenants: number;
  effective_at: number;
  base: string | null;
  dry_run: number;
  stopped: number;
}

const MAX_UNREACHED = 100;
/** The first attempt, and the retry half a minute later. */
const MIN_TRIES = 2;

function toRolloutRecord(host: StoreHost, row: RolloutRow): RolloutRecord {
  const { sql } = host;
  const { version, about, actor, started, tenants } = row;
  const outcomes =
    row.base === null ? { unreached: findUnreached(sql, version), refused: [] } : getOutcomes(sql, version);
  const { unreached, refused } = outcomes;
  const leftMs = Math.max(0, row.effective_at - host.now());
  const isOver = row.visited_all === 1 && leftMs === 0 && unreached.every(({ tries }) => tries >= MIN_TRIES);
  const finalState = unreached.length === 0 && refused.length === 0 ? "done" : "incomplete";
  const state = row.stopped === 1 ? "stopped" : isOver ? finalState : "running";
  const missing = unreached.slice(0, MAX_UNREACHED).map(({ id }) => id);
  const changes = row.dry_run === 1 && "changes" in outcomes ? { changes: outcomes.changes } : {};
  return { version, about, actor, begun: started, tenants, state, leftMs, missing, refused, ...changes };
}

function findUnreached(sql: SqlStorage, version: number): RolloutOutcomes["unreached"] {
  const query = "SELECT id, tries FROM unreachable_tenants WHERE since_version <= ? ORDER BY id";
  return sql.exec<{ id: string; tries: number }>(query, version).toArray();
}
