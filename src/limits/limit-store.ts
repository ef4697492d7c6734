// Daily limits in the tenant object: how many tool calls of the day were counted, for all callers and for each, and
// which limits were exceeded. The audit log gets one entry per limit and hour, never one per rejection.

import type { Store } from "../tenants/object/store.ts";
import type { TenantHost } from "../tenants/object/tenant-host.ts";
import { dayOf } from "./day.ts";

export interface DailyLimit {
  /** The caller whose calls are counted: a principal, or empty for all callers. */
  readonly caller: string;
  readonly most: number;
}

/** Calls that an isolate served without asking first. */
export interface CountedCalls extends DailyLimit {
  readonly calls: number;
}

export interface DailyUse {
  readonly day: string;
  /** The calls of the day, for each limit. */
  readonly used: readonly number[];
}

export interface CountResult extends DailyUse {
  /** Whether the call was counted. */
  readonly isTaken: boolean;
}

export interface ExceededLimitRecord {
  readonly name: string;
  readonly most: number;
  /** The principal. For a caller without a credential it contains no address. */
  readonly caller: string;
}

export interface ExceededLimitEntry extends ExceededLimitRecord {
  /** When it was last recorded, ISO 8601. At most once an hour. */
  readonly at: string;
}

export interface LimitUse {
  /**
   * Calls of the current UTC day by caller; `caller` is empty for all callers. Calls that isolates have not reported yet
   * are missing.
   */
  readonly calls: readonly { readonly caller: string; readonly used: number }[];
  readonly sessions: number;
  /** The latest record of each limit. */
  readonly exceeded: readonly ExceededLimitEntry[];
}

export interface LimitMethods {
  /** Counts one call towards each of these limits, or towards none if one of them is used up. */
  take(limits: readonly DailyLimit[]): CountResult;
  /** Counts calls that were already served, even beyond the limit. */
  count(counted: readonly CountedCalls[]): DailyUse;
  use(): LimitUse;
  recordExceeded(exceeded: ExceededLimitRecord): void;
}

/**
 * The most rows of one kind of caller (keys, people, addresses) and day. Further callers of that kind share one row.
 */
const MAX_CALLERS = 20_000;
/** The first word of a principal's id, or `address`. */
const kindOf = (caller: string) => caller.split(" ", 1)[0] ?? "";
/** At which share of a limit a warning event is sent. */
const WARN_AT = 0.8;
/** How much an object's clock may go back when the object moves. */
const CLOCK_SKEW_MS = 60_000;
const SHOWN_CALLERS = 100;
/** The length of an ISO 8601 time up to its hour. */
const HOUR_LENGTH = 13;

export const limitStore: Store<LimitMethods, TenantHost> = {
  name: "limits",
  methods: {
    // If an answer is lost, the repeated call counts twice. That leaves fewer calls for the day, never more.
    take: { idempotent: true },
    count: {},
    use: { idempotent: true },
    recordExceeded: {},
  },
  migrations: [
    `CREATE TABLE daily_calls (caller TEXT PRIMARY KEY, day TEXT NOT NULL, used INTEGER NOT NULL) WITHOUT ROWID`,
    `CREATE TABLE exceeded_limits (name TEXT PRIMARY KEY, most INTEGER NOT NULL, caller TEXT NOT NULL, at TEXT NOT NULL)
       WITHOUT ROWID`,
  ],
  open: (host) => ({ methods: methodsOf(host) }),
};

interface Row extends DailyLimit {
  readonly day: string;
  readonly used: number;
}

function methodsOf(host: TenantHost): LimitMethods {
  const { sql } = host;
  const callers = new CallerCounts(sql);
  return {
    take: (limits) =>
      host.transaction(() => {
        const now = host.now();
        const rows = limits.map((limit) => rowOf(host, callers, { limit, now }));
        const isTaken = rows.every(({ used, most }) => used < most);
        return { day: dayOf(now), used: rows.map((row) => addCalls(host, row, isTaken ? 1 : 0)), isTaken };
      }),
    count: (counted) =>
      host.transaction(() => {
        const now = host.now();
        return {
          day: dayOf(now),
          used: counted.map((one) => addCalls(host, rowOf(host, callers, { limit: one, now }), one.calls)),
        };
      }),
    recordExceeded: (exceeded) => {
      host.transaction(() => {
        recordExceeded(host, exceeded);
      });
    },
    use: () => ({
      calls: sql
        .exec<{ caller: string; used: number }>(
          "SELECT caller, used FROM daily_calls WHERE day = ? ORDER BY used DESC LIMIT ?",
          dayOf(host.now()),
          SHOWN_CALLERS,
        )
        .toArray(),
      sessions: sql
        .exec<{ sessions: number }>("SELECT count(*) AS sessions FROM stateful_sessions WHERE expires > ?", host.now())
        .one().sessions,
      exceeded: sql
        .exec<Record<string, SqlStorageValue> & ExceededLimitEntry>("SELECT * FROM exceeded_limits ORDER BY name")
        .toArray(),
    }),
  };
}

function rowOf(
  host: TenantHost,
  callers: CallerCounts,
  { limit: { caller: requested, most }, now }: { readonly limit: DailyLimit; readonly now: number },
): Row {
  const findRow = (caller: string) =>
    host.sql
      .exec<{ day: string; used: number }>("SELECT day, used FROM daily_calls WHERE caller = ?", caller)
      .toArray()[0];
  const today = dayOf(now);
  const kind = kindOf(requested);
  const isOwnRow = requested === "" || findRow(requested) || callers.add(today, kind);
  const caller = isOwnRow ? requested : `others ${kind}`;
  const row = findRow(caller);
  // A clock that was set back a little over midnight does not start the previous day's limit again.
  const day = row && row.day > today && row.day <= dayOf(now + CLOCK_SKEW_MS) ? row.day : today;
  return { caller, most, day, used: row?.day === day ? row.used : 0 };
}

/** How many callers of each kind have a row. The rows are counted once a day, since a count reads all of them. */
class CallerCounts {
  readonly #sql: TenantHost["sql"];
  /** By kind. Bound: the kinds of callers. */
  readonly #counts = new Map<string, { readonly day: string; callers: number }>();

  constructor(sql: TenantHost["sql"]) {
    this.#sql = sql;
  }

  /** Counts a caller without a row. Returns false if no more callers of this kind get one today. */
  add(day: string, kind: string): boolean {
    let counted = this.#counts.get(kind);
    if (counted?.day !== day) this.#counts.set(kind, (counted = { day, callers: this.#count(day, kind) }));
    if (counted.callers >= MAX_CALLERS) return false;
    counted.callers += 1;
    return true;
  }

  /** Deletes rows of earlier days first. */
  #count(day: string, kind: string): number {
    this.#sql.exec("DELETE FROM daily_calls WHERE day < ?", day);
    // The range of ids that begin with the kind and a space: "!" is the character after the space.
    const query = "SELECT count(*) AS callers FROM daily_calls WHERE caller >= ? AND caller < ?";
    return this.#sql.exec<{ callers: number }>(query, `${kind} `, `${kind}!`).one().callers;
  }
}

/** Returns the new count. */
function addCalls(host: TenantHost, row: Row, calls: number): number {
  if (calls === 0) return row.used;
  const used = row.used + calls;
  emitDailyLimitWarning(host, row, used);
  host.sql.exec("INSERT OR REPLACE INTO daily_calls (caller, day, used) VALUES (?, ?, ?)", row.caller, row.day, used);
  return used;
}

function emitDailyLimitWarning(
  { emitEvent }: TenantHost,
  { caller, day, most, used: before }: Row,
  after: number,
): void {
  const threshold = most * WARN_AT;
  if (before < threshold && after >= threshold)
    emitEvent?.({ type: "quota.reached", deduplicationKey: `${caller} ${day}`, data: { who: caller, day, most } });
}

function recordExceeded(host: TenantHost, { name, most, caller }: ExceededLimitRecord): void {
  const at = new Date(host.now()).toISOString();
  const last = host.sql.exec<{ at: string }>("SELECT at FROM exceeded_limits WHERE name = ?", name).toArray()[0];
  if (last?.at.slice(0, HOUR_LENGTH) === at.slice(0, HOUR_LENGTH)) return;
  host.sql.exec(
    "INSERT OR REPLACE INTO exceeded_limits (name, most, caller, at) VALUES (?, ?, ?, ?)",
    name,
    most,
    caller,
    at,
  );
  host.record({ name: "limits" }, "limit.met", `limit ${name}`, { before: null, after: { most, who: caller } });
}
