// What a tenant's authority knows of its daily limits: how many calls of the day were given out, and to whom; and which limits were met:
// one row for each limit and hour goes to the audit log, never one for each refusal.

import type { Tables } from "../tenants/authority/tables.ts";
import type { TenantHost } from "../tenants/authority/tenant-host.ts";
import { dayOf, shareOf } from "./share.ts";

/** A daily limit of which an isolate wants a share. */
export interface Want {
  /** Whose calls: empty for all callers, else a principal. */
  readonly who: string;
  readonly most: number;
  /** The least that is wanted. */
  readonly count: number;
}

/** How many calls of each limit the isolate may serve now, and of which day they are. */
export interface Given {
  readonly day: string;
  readonly counts: readonly number[];
}

/** A limit that somebody met. */
export interface MetRecord {
  readonly name: string;
  readonly most: number;
  /** The principal; without a credential no address. */
  readonly who: string;
}

export interface MetNote extends MetRecord {
  /** ISO 8601: when it was noted last, at most once an hour. */
  readonly at: string;
}

export interface LimitUse {
  /** Calls of this day of UTC, by whose they are: empty for all callers. Those that isolates hold count. */
  readonly calls: readonly { readonly who: string; readonly used: number }[];
  readonly sessions: number;
  /** The latest of each limit. */
  readonly met: readonly MetNote[];
}

export interface LimitMethods {
  share(wants: readonly Want[]): Given;
  /** What an isolate got of this day and did not use. */
  giveBack(day: string, who: string, count: number): void;
  use(): LimitUse;
  noteMet(met: MetRecord): void;
}

/** The most rows of one kind of caller (keys, people, addresses) and day. Later callers of that kind share one row. */
const MOST_CALLERS = 20_000;
/** The first word of a principal's id, or `address`. */
const kindOf = (who: string) => who.split(" ", 1)[0] ?? "";
/** From which part of a limit on people are told that it will be met. */
const TOLD_AT = 0.8;
/** By how much an object's clock may go back when the object moves. */
const SKEW_MS = 60_000;
const SHOWN_CALLERS = 100;
/** Of a time in ISO 8601, as far as its hour. */
const HOUR = 13;

export const limitTables: Tables<LimitMethods, TenantHost> = {
  name: "limits",
  migrations: [
    `CREATE TABLE daily_calls (who TEXT PRIMARY KEY, day TEXT NOT NULL, used INTEGER NOT NULL) WITHOUT ROWID`,
    `CREATE TABLE met_limits (name TEXT PRIMARY KEY, most INTEGER NOT NULL, who TEXT NOT NULL, at TEXT NOT NULL)
       WITHOUT ROWID`,
  ],
  open: (host) => ({ methods: methodsOf(host) }),
};

function methodsOf(host: TenantHost): LimitMethods {
  const { sql } = host;
  const used = (who: string) =>
    sql.exec<{ day: string; used: number }>("SELECT day, used FROM daily_calls WHERE who = ?", who).toArray()[0];
  const give = ({ who: asked, most, count }: Want, now: number): number => {
    const day = dayOf(now);
    const kind = kindOf(asked);
    const who = asked === "" || used(asked) || !isCrowded(host, day, kind) ? asked : `others ${kind}`;
    const known = used(who);
    // A clock that was set back a little over midnight does not give the day that is over anew.
    const counted = known && known.day > day && known.day <= dayOf(now + SKEW_MS) ? known.day : day;
    const before = known?.day === counted ? known.used : 0;
    const given = shareOf(most - before, count);
    tellNear(host, { who, day: counted, most }, [before, before + given]);
    if (given > 0) {
      sql.exec(
        `INSERT INTO daily_calls (who, day, used) VALUES (?, ?, ?)
           ON CONFLICT (who) DO UPDATE SET day = excluded.day, used = excluded.used`,
        who,
        counted,
        before + given,
      );
    }
    return given;
  };
  return {
    share: (wants) =>
      host.transaction(() => {
        const now = host.now();
        return { day: dayOf(now), counts: wants.map((want) => give(want, now)) };
      }),
    giveBack: (day, who, count) => {
      sql.exec("UPDATE daily_calls SET used = max(0, used - ?) WHERE who = ? AND day = ?", count, who, day);
    },
    noteMet: (met) => {
      host.transaction(() => {
        noteMet(host, met);
      });
    },
    use: () => ({
      calls: sql
        .exec<{ who: string; used: number }>(
          "SELECT who, used FROM daily_calls WHERE day = ? ORDER BY used DESC LIMIT ?",
          dayOf(host.now()),
          SHOWN_CALLERS,
        )
        .toArray(),
      sessions: sql
        .exec<{ sessions: number }>(
          "SELECT count(*) AS sessions FROM remembered_sessions WHERE expires > ?",
          host.now(),
        )
        .one().sessions,
      met: sql.exec<Record<string, SqlStorageValue> & MetNote>("SELECT * FROM met_limits ORDER BY name").toArray(),
    }),
  };
}

type NearLimit = Readonly<Record<"who" | "day", string>> & Pick<Want, "most">;

function tellNear({ tell }: TenantHost, data: NearLimit, [before, after]: readonly [number, number]): void {
  const mark = data.most * TOLD_AT;
  if (before < mark && after >= mark) tell?.({ type: "quota.reached", key: `${data.who} ${data.day}`, data });
}

/** Rows of days that are over go first. */
function isCrowded({ sql }: TenantHost, day: string, kind: string): boolean {
  const query = "SELECT count(*) AS callers FROM daily_calls WHERE who >= ? AND who < ?";
  // A blank, and what comes after it.
  const count = () => sql.exec<{ callers: number }>(query, `${kind} `, `${kind}!`).one().callers;
  if (count() < MOST_CALLERS) return false;
  sql.exec("DELETE FROM daily_calls WHERE day <> ?", day);
  return count() >= MOST_CALLERS;
}

function noteMet(host: TenantHost, { name, most, who }: MetRecord): void {
  const at = new Date(host.now()).toISOString();
  const last = host.sql.exec<{ at: string }>("SELECT at FROM met_limits WHERE name = ?", name).toArray()[0];
  if (last?.at.slice(0, HOUR) === at.slice(0, HOUR)) return;
  host.sql.exec("INSERT OR REPLACE INTO met_limits (name, most, who, at) VALUES (?, ?, ?, ?)", name, most, who, at);
  host.record({ name: "limits" }, "limit.met", `limit ${name}`, { before: null, after: { most, who } });
}
