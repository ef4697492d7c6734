// Owns the state of fleet runs: what a run applies, and how far each tenant has come. Whoever asks can go on with one.

import type { Change, TenantDocument } from "../../tenants/document/tenant-document.ts";
import type { Actor } from "../../tenants/authority/policy-records.ts";
import type { TableHost, Tables } from "../../tenants/authority/tables.ts";
import { putBase } from "./base-tables.ts";

export interface NewRun {
  readonly base: string;
  readonly document: TenantDocument;
  readonly dryRun: boolean;
  readonly wave: number;
  readonly continueOnError: boolean;
}

export interface RejectedField {
  readonly field: string;
  readonly rule: string;
}

/** How one tenant of a run came out. */
export type RunResult =
  | { readonly tenant: string; readonly state: "done"; readonly changes: readonly Change[] }
  | {
      readonly tenant: string;
      readonly state: "failed";
      readonly error: string;
      readonly errors: readonly RejectedField[];
    };

export interface RunRecord extends NewRun {
  /** Later runs have larger ones. */
  readonly id: number;
  readonly state: "running" | "done" | "stopped";
  /** ISO 8601. */
  readonly created: string;
  /** Milliseconds since the epoch; the latest of all tenants so far. */
  readonly effectiveAt: number;
  readonly total: number;
  readonly done: number;
  readonly failed: readonly {
    readonly tenant: string;
    readonly error: string;
    readonly errors: readonly RejectedField[];
  }[];
  readonly changes: readonly { readonly tenant: string; readonly changes: readonly Change[] }[];
}

export interface FleetMethods {
  /** Writes the base and stops an earlier run of it that still runs; a dry run does neither. */
  startRun(run: NewRun, actor: Actor): RunRecord;
  run(id: number): RunRecord | undefined;
  runs(before: number | null, limit: number): readonly RunRecord[];
  /**
   * Sets a run going again, its failed tenants included. undefined: no such run. A run that is done, or that a newer
   * run of its base replaced (`newer`), is returned as it is.
   */
  takeUp(id: number): { readonly run: RunRecord; readonly newer: number | null } | undefined;
  pending(id: number, limit: number): readonly string[];
  report(id: number, results: readonly RunResult[], effectiveAt: number): RunRecord;
  /** Stops a run that has more tenants than one invocation can do. */
  pause(id: number): RunRecord;
}

interface RunRow {
  [column: string]: SqlStorageValue;
  id: number;
  base: string;
  document: string;
  dry_run: number;
  wave: number;
  continue_on_error: number;
  state: string;
  created: string;
  effective_at: number;
}

const RUNS_KEPT = 50;
const SHOWN = 100;
/** Of one tenant: longer changes or errors are not kept, nor are those of more tenants than are shown. */
const MAX_CHANGES_CHARACTERS = 50_000;

export const fleetTables: Tables<FleetMethods> = {
  name: "fleet",
  migrations: [
    `CREATE TABLE runs (id INTEGER PRIMARY KEY AUTOINCREMENT, base TEXT NOT NULL, document TEXT NOT NULL, dry_run INTEGER NOT NULL,
       wave INTEGER NOT NULL, continue_on_error INTEGER NOT NULL, state TEXT NOT NULL, created TEXT NOT NULL,
       effective_at INTEGER NOT NULL)`,
    `CREATE TABLE run_tenants (run INTEGER NOT NULL, tenant TEXT NOT NULL, state TEXT NOT NULL, error TEXT, detail TEXT,
       PRIMARY KEY (run, tenant)) WITHOUT ROWID`,
    "CREATE INDEX run_tenants_by_state ON run_tenants (run, state, tenant)",
  ],
  open: (host) => ({ methods: methodsOf(host) }),
};

function methodsOf(host: TableHost): FleetMethods {
  const { sql } = host;
  const setState = (id: number, state: RunRecord["state"]) =>
    sql.exec("UPDATE runs SET state = ? WHERE id = ?", state, id);
  return {
    startRun: (run, actor) => host.transaction(() => startRun(host, run, actor)),
    run: (id) => findRun(sql, id),
    runs: (before, limit) =>
      sql
        .exec<RunRow>(
          "SELECT * FROM runs WHERE id < ? ORDER BY id DESC LIMIT ?",
          before ?? Number.MAX_SAFE_INTEGER,
          limit,
        )
        .toArray()
        .map((row) => recordOf(sql, row)),
    takeUp: (id) =>
      host.transaction(() => {
        const run = findRun(sql, id);
        if (!run) return undefined;
        const newer = newerRun(sql, run);
        if (newer !== null || run.state === "done") return { run, newer };
        sql.exec("UPDATE run_tenants SET state = 'pending' WHERE run = ? AND state = 'failed'", id);
        setState(id, "running");
        return { run: findRun(sql, id) as RunRecord, newer };
      }),
    pending: (id, limit) =>
      sql
        .exec<{ tenant: string }>(
          "SELECT tenant FROM run_tenants WHERE run = ? AND state = 'pending' ORDER BY tenant LIMIT ?",
          id,
          limit,
        )
        .toArray()
        .map((row) => row.tenant),
    pause: (id) => {
      setState(id, "stopped");
      return findRun(sql, id) as RunRecord;
    },
    report: (id, results, effectiveAt) =>
      host.transaction(() => {
        for (const result of results) store(sql, id, result);
        sql.exec("UPDATE runs SET effective_at = max(effective_at, ?) WHERE id = ?", effectiveAt, id);
        const run = findRun(sql, id) as RunRecord;
        const state = stateAfter(run, countOf(sql, id, "pending"));
        if (run.state === "running" && state !== "running") setState(id, state);
        return findRun(sql, id) as RunRecord;
      }),
  };
}

function stateAfter(run: RunRecord, pending: number): RunRecord["state"] {
  if (run.failed.length > 0) return pending > 0 && run.continueOnError ? "running" : "stopped";
  return pending > 0 ? "running" : "done";
}

function startRun(host: TableHost, run: NewRun, actor: Actor): RunRecord {
  const { sql } = host;
  const { base, document, dryRun, wave, continueOnError } = run;
  if (!dryRun) {
    putBase(host, { name: base, document, ifRevision: null, actor });
    sql.exec("UPDATE runs SET state = 'stopped' WHERE base = ? AND state = 'running' AND dry_run = 0", base);
  }
  const { id } = sql
    .exec<{ id: number }>(
      `INSERT INTO runs (base, document, dry_run, wave, continue_on_error, state, created, effective_at)
         VALUES (?, ?, ?, ?, ?, 'running', ?, 0) RETURNING id`,
      base,
      JSON.stringify(document),
      dryRun ? 1 : 0,
      wave,
      continueOnError ? 1 : 0,
      new Date(host.now()).toISOString(),
    )
    .one();
  sql.exec(
    "INSERT INTO run_tenants (run, tenant, state) SELECT DISTINCT ?, tenant, 'pending' FROM base_users WHERE base = ?",
    id,
    base,
  );
  const old = sql.exec<{ id: number }>("SELECT id FROM runs ORDER BY id DESC LIMIT -1 OFFSET ?", RUNS_KEPT).toArray();
  for (const one of old) {
    sql.exec("DELETE FROM run_tenants WHERE run = ?", one.id);
    sql.exec("DELETE FROM runs WHERE id = ?", one.id);
  }
  if (countOf(sql, id, "pending") === 0) sql.exec("UPDATE runs SET state = 'done' WHERE id = ?", id);
  return findRun(sql, id) as RunRecord;
}

/** The latest run that wrote the same base after this one, whose document is not the base any more. */
function newerRun(sql: SqlStorage, { id, base, dryRun }: RunRecord): number | null {
  if (dryRun) return null;
  const [row] = sql
    .exec<{ id: number }>(
      "SELECT id FROM runs WHERE base = ? AND dry_run = 0 AND id > ? ORDER BY id DESC LIMIT 1",
      base,
      id,
    )
    .toArray();
  return row?.id ?? null;
}

function store(sql: SqlStorage, run: number, result: RunResult): void {
  const failed = result.state === "failed";
  const isShown = !hasShown(sql, run, result.state);
  const detail = isShown ? JSON.stringify(failed ? result.errors : result.changes) : "[]";
  sql.exec(
    "UPDATE run_tenants SET state = ?, error = ?, detail = ? WHERE run = ? AND tenant = ?",
    result.state,
    failed ? result.error : null,
    detail.length > MAX_CHANGES_CHARACTERS ? "[]" : detail,
    run,
    result.tenant,
  );
}

/** Whether as many tenants came out so as are shown. */
function hasShown(sql: SqlStorage, run: number, state: string): boolean {
  const query = "SELECT 1 FROM run_tenants WHERE run = ? AND state = ? LIMIT 1 OFFSET ?";
  return sql.exec(query, run, state, SHOWN).toArray().length > 0;
}

function findRun(sql: SqlStorage, id: number): RunRecord | undefined {
  const [row] = sql.exec<RunRow>("SELECT * FROM runs WHERE id = ?", id).toArray();
  return row && recordOf(sql, row);
}

function countOf(sql: SqlStorage, run: number, state: string): number {
  return sql
    .exec<{ count: number }>("SELECT count(*) AS count FROM run_tenants WHERE run = ? AND state = ?", run, state)
    .one().count;
}

interface ShownRow {
  [column: string]: SqlStorageValue;
  tenant: string;
  error: string | null;
  detail: string | null;
}

function shown(sql: SqlStorage, run: number, state: string): ShownRow[] {
  return sql
    .exec<ShownRow>(
      "SELECT tenant, error, detail FROM run_tenants WHERE run = ? AND state = ? ORDER BY tenant LIMIT ?",
      run,
      state,
      SHOWN,
    )
    .toArray();
}

function recordOf(sql: SqlStorage, row: RunRow): RunRecord {
  const { id } = row;
  const done = countOf(sql, id, "done");
  return {
    id,
    base: row.base,
    document: JSON.parse(row.document) as TenantDocument,
    dryRun: row.dry_run === 1,
    wave: row.wave,
    continueOnError: row.continue_on_error === 1,
    state: row.state as RunRecord["state"],
    created: row.created,
    effectiveAt: row.effective_at,
    total: done + countOf(sql, id, "failed") + countOf(sql, id, "pending"),
    done,
    failed: shown(sql, id, "failed").map(({ tenant, error, detail }) => ({
      tenant,
      error: error ?? "",
      errors: JSON.parse(detail ?? "[]") as RejectedField[],
    })),
    changes:
      row.dry_run === 1
        ? shown(sql, id, "done").map(({ tenant, detail }) => ({
            tenant,
            changes: JSON.parse(detail ?? "[]") as Change[],
          }))
        : [],
  };
}
