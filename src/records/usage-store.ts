// Usage of a tenant in its object: counts by hour, later by day. A closed hour never changes again, so that repeated
// reads agree. Late counts go into the open hour.

import type { UsageQuery, UsageLine } from "../deployment/record-readers.ts";
import type { TenantHost } from "../tenants/object/tenant-host.ts";
import type { Store } from "../tenants/object/store.ts";
import { batchMigration, pruneBatchSources, recordBatch } from "./batch-deduplication.ts";
import type { BatchId } from "./call-batches.ts";

export interface UsageMethods {
  /** false: the batch was already counted. */
  add(batchId: BatchId, rows: readonly UsageLine[]): boolean;
  lines(query: UsageQuery): { readonly lines: readonly UsageLine[]; readonly closedTo: number };
}

export const HOUR_MS = 3_600_000;
/** How long after its end an hour accepts late counts. */
const GRACE_MS = 300_000;
/** How many rows an hour can have. Further ones share a row. */
export const MAX_ROWS_PER_HOUR = 500;
export const RETAINED_HOURS = 35 * 24;
export const RETAINED_DAYS = 400;
const PAGE = 500;
const COUNTS = ["calls", "errors", "refused", "bytesIn", "bytesOut"] as const;

const columns = `(time INTEGER NOT NULL, profile TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL,
  upstream TEXT NOT NULL, ${COUNTS.map((name) => `${name} INTEGER NOT NULL`).join(", ")},
  PRIMARY KEY (time, profile, kind, name, upstream)) WITHOUT ROWID`;
const KEY = "time, profile, kind, name, upstream";
const ALL = `${KEY}, ${COUNTS.join(", ")}`;
const ADD_ON_CONFLICT = `ON CONFLICT (${KEY}) DO UPDATE SET ${COUNTS.map((name) => `${name} = ${name} + excluded.${name}`).join(", ")}`;
const SUMS = COUNTS.map((name) => `sum(${name}) AS ${name}`).join(", ");

export const usageStore: Store<UsageMethods, TenantHost> = {
  name: "usage",
  methods: { add: {}, lines: { idempotent: true } },
  migrations: [
    `CREATE TABLE usage_hours ${columns}`,
    `CREATE TABLE usage_days ${columns}`,
    batchMigration("usage_batches"),
  ],
  open: (host) => {
    return {
      methods: {
        add: (batchId, rows) =>
          host.transaction(() => {
            if (!recordBatch(host, "usage_batches", batchId)) return false;
            for (const row of rows) addRow(host, row);
            host.scheduleAlarm(host.now() + 24 * HOUR_MS);
            return true;
          }),
        lines: (query) => readLines(host, query),
      },
      alarm: async (now) => {
        host.transaction(() => {
          pruneBatchSources(host, "usage_batches");
          foldHours(host, now);
        });
        return hasHours(host.sql) ? now + 24 * HOUR_MS : undefined;
      },
    };
  },
};

function hasHours(sql: SqlStorage): boolean {
  return sql.exec("SELECT 1 FROM usage_hours LIMIT 1").toArray().length > 0;
}

/** The first hour that is not closed. */
function firstOpenHour(now: number): number {
  return Math.floor((now - GRACE_MS) / HOUR_MS);
}

function addRow(host: TenantHost, row: UsageLine): void {
  const { sql } = host;
  const now = host.now();
  const time = Math.min(Math.max(row.time, firstOpenHour(now)), Math.floor(now / HOUR_MS));
  const { profile, kind, name, upstream } = fitsHour(host, { ...row, time })
    ? row
    : { profile: "", kind: row.kind, name: "", upstream: "" };
  const values = [time, profile, kind, name, upstream, ...COUNTS.map((count) => row[count])];
  sql.exec(`INSERT INTO usage_hours (${ALL}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ${ADD_ON_CONFLICT}`, ...values);
}

/** Whether the hour has a row for this target, or room for one. */
function fitsHour(host: TenantHost, { time, profile, kind, name, upstream }: UsageLine): boolean {
  const { sql } = host;
  const known = "SELECT 1 FROM usage_hours WHERE time = ? AND profile = ? AND kind = ? AND name = ? AND upstream = ?";
  // Checked first: it reads one row, and frequent targets are there.
  if (sql.exec(known, time, profile, kind, name, upstream).toArray().length > 0) return true;
  const { rows } = sql.exec<{ rows: number }>("SELECT count(*) AS rows FROM usage_hours WHERE time = ?", time).one();
  return rows < MAX_ROWS_PER_HOUR && host.hasCapacity();
}

/** Folds old hours into days. Only whole days are folded, because a day is read as a whole. */
function foldHours({ sql }: TenantHost, now: number): void {
  const today = Math.floor(now / HOUR_MS / 24);
  const before = (today - RETAINED_HOURS / 24) * 24;
  sql.exec(
    `INSERT INTO usage_days (${ALL}) SELECT time / 24, profile, kind, name, upstream, ${SUMS} FROM usage_hours
      WHERE time < ? GROUP BY time / 24, profile, kind, name, upstream ${ADD_ON_CONFLICT}`,
    before,
  );
  sql.exec("DELETE FROM usage_hours WHERE time < ?", before);
  sql.exec("DELETE FROM usage_days WHERE time < ?", today - RETAINED_DAYS);
}

const THING = "profile, kind, name, upstream";
/** A day that still has hours. */
const DAY_FROM_HOURS = `SELECT ? AS time, ${THING}, ${SUMS} FROM usage_hours
  WHERE time >= ? AND time < ? AND (${THING}) > (?, ?, ?, ?) GROUP BY ${THING} ORDER BY ${THING} LIMIT ?`;

type Line = Record<string, SqlStorageValue> & UsageLine;
/**
 * Rows after `after` and before the time `to`. An `after` with empty texts includes everything, because each kind has a
 * name.
 */
type Range = Readonly<{ after: readonly [number, string, string, string, string]; to: number }>;

function readLines(host: TenantHost, { by, from, to, open, after }: UsageQuery) {
  const closedTo = by === "hour" ? firstOpenHour(host.now()) : Math.floor(firstOpenHour(host.now()) / 24);
  const range: Range = {
    after: after ? [after.time, after.profile, after.kind, after.name, after.upstream] : [from, "", "", "", ""],
    to: open ? to : Math.min(to, closedTo),
  };
  return { lines: by === "hour" ? linesOf(host.sql, "usage_hours", range) : dayLines(host.sql, range), closedTo };
}

function linesOf(sql: SqlStorage, table: "usage_hours" | "usage_days", { after, to: most }: Range): Line[] {
  const query = `SELECT ${ALL} FROM ${table} WHERE (${KEY}) > (?, ?, ?, ?, ?) AND time < ? ORDER BY ${KEY} LIMIT ?`;
  return sql.exec<Line>(query, ...after, most, PAGE).toArray();
}

/** Reads one day at a time, as the page needs: all hours may be 420,000 rows, in the object that grants leases. */
function dayLines(sql: SqlStorage, range: Range): Line[] {
  const lines = linesOf(sql, "usage_days", range);
  let [begin, ...thing] = range.after;
  while (lines.length < PAGE) {
    const { first } = sql
      .exec<{ first: number | null }>("SELECT min(time) AS first FROM usage_hours WHERE time >= ?", begin * 24)
      .one();
    const day = Math.floor((first ?? Infinity) / 24);
    if (day >= range.to) break;
    const behind = day === begin ? thing : ["", "", "", ""];
    lines.push(...sql.exec<Line>(DAY_FROM_HOURS, day, day * 24, (day + 1) * 24, ...behind, PAGE - lines.length));
    [begin, ...thing] = [day + 1, "", "", "", ""];
  }
  return lines;
}
