// Rollouts of base documents to the tenants that extend them. Merging needs the author's catalog, so the alarm starts
// each step in an invocation of the Worker. This store keeps the progress and the outcomes.

import { recordAudit } from "../../tenants/object/audit-log.ts";
import type { Actor } from "../../tenants/object/policy-records.ts";
import type { StoreHost } from "../../tenants/object/store.ts";
import type { Change, FieldRule } from "../../tenants/document/tenant-document.ts";
import { logError } from "../../telemetry/error-line.ts";
import { DUE_NOW, insertRollout, retryAt, type SqlRow } from "./rollout-rows.ts";

/** The host of these tables, and the call that starts a step. */
export interface RolloutHost extends StoreHost {
  /** Starts the next step of the rollout in another invocation. */
  startStep(version: number): Promise<unknown>;
}

/** The next tenants of a rollout. `after`: the position after this page; null: the page holds retries. */
export interface BasePage {
  readonly base: string;
  readonly dryRun: boolean;
  readonly actor: string;
  readonly tenants: readonly string[];
  readonly after: string | null;
}

/** The outcome for one tenant. A refusal is final, and the tenant keeps the old base. */
export type BaseOutcome =
  | { readonly tenant: string; readonly state: "done"; readonly changes: readonly Change[] }
  | {
      readonly tenant: string;
      readonly state: "refused";
      readonly error: string;
      readonly errors: readonly FieldRule[];
    }
  | { readonly tenant: string; readonly state: "unreached" };

export interface BaseReport {
  readonly after: string | null;
  readonly outcomes: readonly BaseOutcome[];
  /** Milliseconds until the changes are in effect. */
  readonly leftMs: number;
}

export interface BaseRolloutMethods {
  /** Starts a rollout, and stops an earlier one of the same base; a dry run stops none. undefined: no such base. */
  startRollout(base: string, dryRun: boolean, actor: Actor): number | undefined;
  /** The next tenants; undefined: nothing is due now. A page is handed out again unless its step reports in time. */
  nextPage(version: number): BasePage | undefined;
  reportOutcomes(version: number, report: BaseReport): void;
  /** Leaves the next step to another invocation. */
  continueLater(version: number): void;
  /** false: no such rollout is running. */
  stopRollout(version: number): boolean;
}

const PAGE_SIZE = 50;
/** A step that reports nothing for this long counts as dead. */
const STEP_TIMEOUT_MS = 60_000;
const FIRST_RETRY_MS = 30_000;
/** The most tenants stored with details, for each outcome. */
const MAX_OUTCOMES = 100;
const MAX_DETAIL_CHARACTERS = 50_000;

export const outcomeMigrations = [
  `CREATE TABLE rollout_outcomes (version INTEGER NOT NULL, tenant TEXT NOT NULL, state TEXT NOT NULL, error TEXT, detail TEXT,
     failing_since INTEGER, tries INTEGER NOT NULL DEFAULT 0, due_at INTEGER, PRIMARY KEY (version, tenant)) WITHOUT ROWID`,
  "CREATE INDEX rollout_outcomes_by_state ON rollout_outcomes (version, state, tenant)",
];

export function nextBaseStepAt(sql: SqlStorage): number | undefined {
  const query = "SELECT min(due_at) AS due FROM rollouts WHERE base IS NOT NULL AND stopped = 0";
  return sql.exec<{ due: number | null }>(query).one().due ?? undefined;
}

/** Starts the steps without waiting: each step reports its own progress. */
export function startDueBaseSteps(host: RolloutHost, now: number): void {
  const due = "SELECT version FROM rollouts WHERE base IS NOT NULL AND stopped = 0 AND due_at <= ?";
  for (const { version } of host.sql.exec<{ version: number }>(due, now).toArray()) {
    setDue(host, version, now + STEP_TIMEOUT_MS);
    void host.startStep(version).catch((error: unknown) => {
      // The step is due again after STEP_TIMEOUT_MS, so a failed start repeats.
      logError(error, { method: `alarm rollout ${version}` });
    });
  }
}

function setDue(host: StoreHost, version: number, due: number | null): void {
  host.sql.exec("UPDATE rollouts SET due_at = ? WHERE version = ?", due, version);
  if (due !== null) host.scheduleAlarm(due);
}

interface BaseRow extends SqlRow {
  base: string;
  dry_run: number;
  actor: string;
  after: string;
  visited_all: number;
}

export function createBaseRolloutMethods(host: RolloutHost): BaseRolloutMethods {
  const { sql } = host;
  return {
    startRollout: (base, dryRun, actor) =>
      host.transaction(() => {
        if (sql.exec("SELECT 1 FROM bases WHERE name = ?", base).toArray().length === 0) return undefined;
        if (!dryRun)
          sql.exec("UPDATE rollouts SET stopped = 1 WHERE base = ? AND dry_run = 0 AND due_at IS NOT NULL", base);
        const version = insertRollout(host, `${dryRun ? "dry run of base" : "base"} ${base}`, actor);
        const set = "UPDATE rollouts SET base = ?, dry_run = ?, after = '' WHERE version = ?";
        sql.exec(set, base, dryRun ? 1 : 0, version);
        if (!dryRun) recordAudit(host, actor, ["base.rollout", `base ${base}`], { before: null, after: { version } });
        setDue(host, version, DUE_NOW);
        return version;
      }),
    nextPage: (version) => host.transaction(() => nextPage(host, version)),
    reportOutcomes: (version, { after, outcomes, leftMs }) => {
      host.transaction(() => {
        const now = host.now();
        for (const outcome of outcomes) storeOutcome(host, version, outcome);
        const counted = "tenants = tenants + ?, effective_at = max(effective_at, ?)";
        const count = after === null ? 0 : outcomes.length;
        sql.exec(`UPDATE rollouts SET ${counted} WHERE version = ?`, count, now + leftMs, version);
        if (after !== null) sql.exec("UPDATE rollouts SET after = ? WHERE version = ?", after, version);
      });
    },
    continueLater: (version) => {
      setDue(host, version, DUE_NOW);
    },
    stopRollout: (version) => {
      const set =
        "UPDATE rollouts SET stopped = 1 WHERE version = ? AND base IS NOT NULL AND due_at IS NOT NULL RETURNING version";
      return sql.exec(set, version).toArray().length > 0;
    },
  };
}

/** The tenants that extend the base now, then the unreachable ones that are due for a retry. */
function nextPage(host: StoreHost, version: number): BasePage | undefined {
  const { sql } = host;
  const query = "SELECT base, dry_run, actor, after, visited_all FROM rollouts WHERE version = ? AND stopped = 0";
  const [row] = sql.exec<BaseRow>(query, version).toArray();
  if (!row) return undefined;
  const { base, actor } = row;
  const pageBase = { base, actor, dryRun: row.dry_run === 1 };
  const users = "SELECT DISTINCT tenant FROM base_users WHERE base = ? AND tenant > ? ORDER BY tenant LIMIT ?";
  const next = row.visited_all === 1 ? [] : tenantIdsIn(sql, users, base, row.after, PAGE_SIZE);
  if (next.length > 0) {
    setDue(host, version, host.now() + STEP_TIMEOUT_MS);
    return { ...pageBase, tenants: next, after: next.at(-1) ?? "" };
  }
  sql.exec("UPDATE rollouts SET visited_all = 1 WHERE version = ?", version);
  const selectLate =
    "SELECT tenant FROM rollout_outcomes WHERE version = ? AND state = 'unreached' AND due_at <= ? LIMIT ?";
  const retries = tenantIdsIn(sql, selectLate, version, host.now(), PAGE_SIZE);
  if (retries.length > 0) {
    setDue(host, version, host.now() + STEP_TIMEOUT_MS);
    return { ...pageBase, tenants: retries, after: null };
  }
  const selectNextDue = "SELECT min(due_at) AS due FROM rollout_outcomes WHERE version = ? AND state = 'unreached'";
  setDue(host, version, sql.exec<{ due: number | null }>(selectNextDue, version).one().due);
  return undefined;
}

function tenantIdsIn(sql: SqlStorage, query: string, ...values: SqlStorageValue[]): string[] {
  return sql
    .exec<{ tenant: string }>(query, ...values)
    .toArray()
    .map(({ tenant }) => tenant);
}

function storeOutcome(host: StoreHost, version: number, outcome: BaseOutcome): void {
  const { sql } = host;
  const { tenant, state } = outcome;
  const now = host.now();
  if (state === "unreached") {
    const selectFailing =
      "SELECT failing_since FROM rollout_outcomes WHERE version = ? AND tenant = ? AND state = 'unreached'";
    const [row] = sql.exec<{ failing_since: number }>(selectFailing, version, tenant).toArray();
    const failingSince = row?.failing_since ?? now;
    sql.exec(
      `INSERT INTO rollout_outcomes (version, tenant, state, failing_since, tries, due_at) VALUES (?, ?, 'unreached', ?, 1, ?)
         ON CONFLICT (version, tenant) DO UPDATE SET tries = tries + 1, due_at = excluded.due_at`,
      version,
      tenant,
      failingSince,
      retryAt(now, failingSince, FIRST_RETRY_MS),
    );
    return;
  }
  sql.exec("DELETE FROM rollout_outcomes WHERE version = ? AND tenant = ?", version, tenant);
  const selectStored = "SELECT 1 FROM rollout_outcomes WHERE version = ? AND state = ? LIMIT 1 OFFSET ?";
  const hasRoom = sql.exec(selectStored, version, state, MAX_OUTCOMES - 1).toArray().length === 0;
  const isDryRun = "SELECT dry_run FROM rollouts WHERE version = ?";
  const mustStore = state === "refused" || sql.exec<{ dry_run: number }>(isDryRun, version).one().dry_run === 1;
  if (!mustStore) return;
  const text = JSON.stringify(state === "refused" ? outcome.errors : outcome.changes);
  const detail = hasRoom && text.length <= MAX_DETAIL_CHARACTERS ? text : "[]";
  const insert = "INSERT INTO rollout_outcomes (version, tenant, state, error, detail) VALUES (?, ?, ?, ?, ?)";
  sql.exec(insert, version, tenant, state, state === "refused" ? outcome.error : null, detail);
}

export interface RolloutOutcomes {
  readonly unreached: readonly { readonly id: string; readonly tries: number }[];
  readonly refused: readonly {
    readonly tenant: string;
    readonly error: string;
    readonly errors: readonly FieldRule[];
  }[];
  readonly changes: readonly { readonly tenant: string; readonly changes: readonly Change[] }[];
}

export function getOutcomes(sql: SqlStorage, version: number): RolloutOutcomes {
  const rows = (state: string) =>
    sql
      .exec<{ tenant: string; error: string | null; detail: string | null; tries: number }>(
        "SELECT tenant, error, detail, tries FROM rollout_outcomes WHERE version = ? AND state = ? ORDER BY tenant LIMIT ?",
        version,
        state,
        MAX_OUTCOMES,
      )
      .toArray();
  return {
    unreached: rows("unreached").map(({ tenant, tries }) => ({ id: tenant, tries })),
    refused: rows("refused").map(({ tenant, error, detail }) => ({
      tenant,
      error: error ?? "",
      errors: JSON.parse(detail ?? "[]") as FieldRule[],
    })),
    changes: rows("done").map(({ tenant, detail }) => ({ tenant, changes: JSON.parse(detail ?? "[]") as Change[] })),
  };
}
