// Owns the state of fleet runs: what a run applies, how far each tenant has come, and when its next step is due. The alarm
// starts that step in an invocation of its own: nothing is applied here.

import type { Change, TenantDocument } from "../../tenants/document/tenant-document.ts";
import type { Actor } from "../../tenants/authority/policy-records.ts";
import type { TableHost, Tables } from "../../tenants/authority/tables.ts";
import { logFault } from "../../telemetry/fault-line.ts";
import { putBase } from "./base-tables.ts";
import type { NewRun, RejectedField, RunRecord, RunResult, WaitingTenant } from "./fleet-records.ts";

export interface FleetMethods {
  /** Writes the base and stops an earlier run of it that still runs; a dry run does neither. */
  startRun(run: NewRun, actor: Actor): RunRecord;
  run(id: number): RunRecord | undefined;
  runs(before: number | null, limit: number): readonly RunRecord[];
  /**
   * Sets a run going again, its failed tenants included. undefined: no such run. A run that is done, or that a newer
   * run of its base replaced (`newer`), is returned as it is.
   */
  takeUp(id: number, actor: Actor): { readonly run: RunRecord; readonly newer: number | null } | undefined;
  /** The tenants that are next. Whoever takes them has some time to report, before they are taken again. */
  wave(id: number): readonly WaitingTenant[];
  report(id: number, results: readonly RunResult[], leftMs: number | null): RunRecord;
  /** The next step is another invocation's. */
  handOver(id: number): void;
  /** Nobody goes on with it until it is taken up again. undefined: no such run. */
  stop(id: number): RunRecord | undefined;
}

/** What the object that keeps these tables can do beside. */
export interface FleetHost extends TableHost {
  /** Begins the next step of the run, elsewhere. */
  startStep(run: number): Promise<unknown>;
}

/** An invocation may make 10,000 calls; a tenant takes eight, and more where somebody else writes to it. */
const TENANTS_A_STEP = 500;
/** A step that reports nothing for so long has ended with whoever took it, and the next one is begun. */
const SILENT_MS = 60_000;

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
  total: number;
  done: number;
  failed: number;
  actor: string;
  step: number;
}

const RUNS_KEPT = 50;
/** Of all its tenants, once for each time that somebody takes it up. */
const RECOUNTED = `total = (SELECT count(*) FROM run_tenants WHERE run = id),
  done = (SELECT count(*) FROM run_tenants WHERE run = id AND run_tenants.state = 'done')`;
const SHOWN = 100;
/** Of one tenant: longer changes or errors are not kept, nor are those of more tenants than are shown. */
const MAX_CHANGES_CHARACTERS = 50_000;

export const fleetTables: Tables<FleetMethods, FleetHost> = {
  name: "fleet",
  migrations: [
    `CREATE TABLE runs (id INTEGER PRIMARY KEY AUTOINCREMENT, base TEXT NOT NULL, document TEXT NOT NULL, dry_run INTEGER NOT NULL,
       wave INTEGER NOT NULL, continue_on_error INTEGER NOT NULL, state TEXT NOT NULL, created TEXT NOT NULL,
       effective_at INTEGER NOT NULL)`,
    `CREATE TABLE run_tenants (run INTEGER NOT NULL, tenant TEXT NOT NULL, state TEXT NOT NULL, error TEXT, detail TEXT,
       PRIMARY KEY (run, tenant)) WITHOUT ROWID`,
    "CREATE INDEX run_tenants_by_state ON run_tenants (run, state, tenant)",
    "ALTER TABLE runs ADD COLUMN total INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE runs ADD COLUMN done INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE runs ADD COLUMN failed INTEGER NOT NULL DEFAULT 0",
    // When the next step begins, milliseconds since the epoch.
    "ALTER TABLE runs ADD COLUMN due INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE runs ADD COLUMN step INTEGER NOT NULL DEFAULT 500",
    "ALTER TABLE runs ADD COLUMN actor TEXT NOT NULL DEFAULT 'platform'",
    `UPDATE runs SET total = (SELECT count(*) FROM run_tenants WHERE run = id),
       done = (SELECT count(*) FROM run_tenants WHERE run = id AND run_tenants.state = 'done'),
       failed = (SELECT count(*) FROM run_tenants WHERE run = id AND run_tenants.state = 'failed')`,
  ],
  open: (host) => {
    const next = nextDue(host.sql);
    if (next !== undefined) host.wakeAt(next);
    return { methods: methodsOf(host), alarm: async (now) => beginSteps(host, now) };
  },
};

function nextDue(sql: SqlStorage): number | undefined {
  const query = "SELECT min(due) AS next FROM runs WHERE state = 'running'";
  return sql.exec<{ next: number | null }>(query).one().next ?? undefined;
}

/** Nobody waits for what is begun: it says itself how far it came. */
function beginSteps(host: FleetHost, now: number): number | undefined {
  const due = "SELECT id FROM runs WHERE state = 'running' AND due <= ?";
  for (const { id } of host.sql.exec<{ id: number }>(due, now).toArray()) {
    setDue(host, id, now + SILENT_MS);
    void host.startStep(id).catch((error: unknown) => {
      // It is begun again when nothing was heard of it.
      logFault(error, { method: `alarm fleet run-${id}` });
    });
  }
  return nextDue(host.sql);
}

function setDue(host: FleetHost, id: number, due: number): void {
  host.sql.exec("UPDATE runs SET due = ? WHERE id = ?", due, id);
  host.wakeAt(due);
}

function methodsOf(host: FleetHost): FleetMethods {
  const { sql } = host;
  const setState = (id: number, state: RunRecord["state"]) =>
    sql.exec("UPDATE runs SET state = ? WHERE id = ?", state, id);
  return {
    startRun: (run, actor) => host.transaction(() => startRun(host, run, actor)),
    run: (id) => findRun(host, id),
    runs: (before, limit) =>
      sql
        .exec<RunRow>(
          "SELECT * FROM runs WHERE id < ? ORDER BY id DESC LIMIT ?",
          before ?? Number.MAX_SAFE_INTEGER,
          limit,
        )
        .toArray()
        .map((row) => recordOf(host, row)),
    takeUp: (id, actor) =>
      host.transaction(() => {
        const run = findRun(host, id);
        if (!run) return undefined;
        const newer = newerRun(sql, run);
        if (newer !== null || run.state === "done") return { run, newer };
        sql.exec("UPDATE run_tenants SET state = 'pending' WHERE run = ? AND state = 'failed'", id);
        sql.exec(`UPDATE runs SET state = 'running', failed = 0, actor = ?, ${RECOUNTED} WHERE id = ?`, actor.name, id);
        setDue(host, id, host.now() + SILENT_MS);
        return { run: findRun(host, id) as RunRecord, newer };
      }),
    wave: (id) => {
      setDue(host, id, host.now() + SILENT_MS);
      return waveOf(sql, id);
    },
    handOver: (id) => {
      setDue(host, id, host.now());
    },
    stop: (id) =>
      host.transaction(() => {
        sql.exec("UPDATE runs SET state = 'stopped' WHERE id = ? AND state = 'running'", id);
        return findRun(host, id);
      }),
    report: (id, results, leftMs) =>
      host.transaction(() => {
        for (const result of results) store(sql, id, result);
        const effectiveAt = leftMs === null ? 0 : host.now() + leftMs;
        sql.exec("UPDATE runs SET effective_at = max(effective_at, ?) WHERE id = ?", effectiveAt, id);
        const row = sql.exec<RunRow>("SELECT * FROM runs WHERE id = ?", id).one();
        const state = stateAfter(sql, row);
        if (row.state === "running" && state !== "running") setState(id, state);
        return findRun(host, id) as RunRecord;
      }),
  };
}

function waveOf(sql: SqlStorage, id: number): readonly WaitingTenant[] {
  const waiting = `SELECT tenant FROM run_tenants
    WHERE run = ? AND state = 'pending' ORDER BY tenant LIMIT (SELECT wave FROM runs WHERE id = ?)`;
  const uses = "SELECT created, basis FROM base_users WHERE tenant = ? AND base = (SELECT base FROM runs WHERE id = ?)";
  return sql
    .exec<{ tenant: string }>(waiting, id, id)
    .toArray()
    .map(({ tenant }) => ({
      tenant,
      uses: sql.exec<{ created: string; basis: number }>(uses, tenant, id).toArray(),
    }));
}

/** Says the rows, not the totals: earlier code, while it is rolled back to, writes rows alone. */
function stateAfter(sql: SqlStorage, run: RunRow): RunRecord["state"] {
  const waiting = "SELECT 1 FROM run_tenants WHERE run = ? AND state = 'pending' LIMIT 1";
  const isPending = sql.exec(waiting, run.id).toArray().length > 0;
  if (run.failed > 0) return isPending && run.continue_on_error === 1 ? "running" : "stopped";
  return isPending ? "running" : "done";
}

function startRun(host: FleetHost, run: NewRun, actor: Actor): RunRecord {
  const { sql } = host;
  const { base, document, dryRun, wave, continueOnError, step = TENANTS_A_STEP } = run;
  if (!dryRun) {
    putBase(host, { name: base, document, ifRevision: null, actor });
    sql.exec("UPDATE runs SET state = 'stopped' WHERE base = ? AND state = 'running' AND dry_run = 0", base);
  }
  const { id } = sql
    .exec<{ id: number }>(
      `INSERT INTO runs (base, document, dry_run, wave, continue_on_error, state, created, effective_at, actor, step)
         VALUES (?, ?, ?, ?, ?, 'running', ?, 0, ?, ?) RETURNING id`,
      base,
      JSON.stringify(document),
      dryRun ? 1 : 0,
      wave,
      continueOnError ? 1 : 0,
      new Date(host.now()).toISOString(),
      actor.name,
      step,
    )
    .one();
  sql.exec(
    "INSERT INTO run_tenants (run, tenant, state) SELECT DISTINCT ?, tenant, 'pending' FROM base_users WHERE base = ?",
    id,
    base,
  );
  // The one count: from now on each outcome is added in the transaction that stores it.
  sql.exec("UPDATE runs SET total = (SELECT count(*) FROM run_tenants WHERE run = ?) WHERE id = ?", id, id);
  setDue(host, id, host.now() + SILENT_MS);
  // One that still runs has tenants that wait for it.
  const ended = "SELECT id FROM runs WHERE state <> 'running' ORDER BY id DESC LIMIT -1 OFFSET ?";
  const old = sql.exec<{ id: number }>(ended, RUNS_KEPT).toArray();
  for (const one of old) {
    sql.exec("DELETE FROM run_tenants WHERE run = ?", one.id);
    sql.exec("DELETE FROM runs WHERE id = ?", one.id);
  }
  sql.exec("UPDATE runs SET state = 'done' WHERE id = ? AND total = 0", id);
  return findRun(host, id) as RunRecord;
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
  const { length } = sql
    .exec(
      `UPDATE run_tenants SET state = ?, error = ?, detail = ? WHERE run = ? AND tenant = ? AND state = 'pending'
         RETURNING tenant`,
      result.state,
      failed ? result.error : null,
      detail.length > MAX_CHANGES_CHARACTERS ? "[]" : detail,
      run,
      result.tenant,
    )
    .toArray();
  // Two steps may have had the same tenant: it counts once.
  const counted = failed ? "failed = failed" : "done = done";
  sql.exec(`UPDATE runs SET ${counted} + ? WHERE id = ?`, length, run);
}

/** Whether as many tenants came out so as are shown. */
function hasShown(sql: SqlStorage, run: number, state: string): boolean {
  const query = "SELECT 1 FROM run_tenants WHERE run = ? AND state = ? LIMIT 1 OFFSET ?";
  return sql.exec(query, run, state, SHOWN).toArray().length > 0;
}

type Clocked = Pick<TableHost, "sql" | "now">;

function findRun(host: Clocked, id: number): RunRecord | undefined {
  const [row] = host.sql.exec<RunRow>("SELECT * FROM runs WHERE id = ?", id).toArray();
  return row && recordOf(host, row);
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

function recordOf(host: Clocked, row: RunRow): RunRecord {
  const { sql } = host;
  const { id, total, done, actor } = row;
  return {
    id,
    base: row.base,
    document: JSON.parse(row.document) as TenantDocument,
    dryRun: row.dry_run === 1,
    wave: row.wave,
    step: row.step,
    continueOnError: row.continue_on_error === 1,
    state: row.state as RunRecord["state"],
    created: row.created,
    effectiveAt: row.effective_at,
    leftMs: row.effective_at - host.now(),
    total,
    done,
    actor,
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
