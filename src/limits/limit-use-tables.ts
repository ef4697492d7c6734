// Owns what operators are shown of how a tenant's limits are used, and which were met: one row for each limit and hour goes to the
// audit log, never one for each refusal. The admin API alone asks for it, so a Worker without that has the tables of limits as they are.

import type { Tables } from "../tenants/authority/tables.ts";
import type { TenantHost } from "../tenants/authority/tenant-host.ts";
import { limitTables, type LimitMethods } from "./limit-tables.ts";
import { dayOf } from "./day.ts";

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
  /** Calls of this day of UTC, by whose they are: empty for all callers. What isolates did not report yet is not in it. */
  readonly calls: readonly { readonly who: string; readonly used: number }[];
  readonly sessions: number;
  /** The latest of each limit. */
  readonly met: readonly MetNote[];
}

export interface LimitUseMethods extends LimitMethods {
  use(): LimitUse;
  noteMet(met: MetRecord): void;
}

const SHOWN_CALLERS = 100;
/** Of a time in ISO 8601, as far as its hour. */
const HOUR = 13;

/** In the place of `limitTables`, whose name they have. */
export const limitUseTables: Tables<LimitUseMethods, TenantHost> = {
  ...limitTables,
  open: (host) => {
    const { sql } = host;
    const { methods } = limitTables.open(host);
    return {
      methods: {
        ...methods,
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
      },
    };
  },
};

function noteMet(host: TenantHost, { name, most, who }: MetRecord): void {
  const at = new Date(host.now()).toISOString();
  const last = host.sql.exec<{ at: string }>("SELECT at FROM met_limits WHERE name = ?", name).toArray()[0];
  if (last?.at.slice(0, HOUR) === at.slice(0, HOUR)) return;
  host.sql.exec("INSERT OR REPLACE INTO met_limits (name, most, who, at) VALUES (?, ?, ?, ?)", name, most, who, at);
  host.record({ name: "limits" }, "limit.met", `limit ${name}`, { before: null, after: { most, who } });
}
