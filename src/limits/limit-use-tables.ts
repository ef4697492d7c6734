// Owns what operators are shown of how a tenant's limits are used. The admin API alone asks for it, so a Worker without that has
// the tables of limits as they are.

import type { Tables } from "../tenants/authority/tables.ts";
import type { TenantHost } from "../tenants/authority/tenant-host.ts";
import { limitTables, type LimitMethods, type MetRecord } from "./limit-tables.ts";
import { dayOf } from "./share.ts";

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

export interface LimitUseMethods extends LimitMethods {
  use(): LimitUse;
}

const SHOWN_CALLERS = 100;

/** In the place of `limitTables`, whose name they have. */
export const limitUseTables: Tables<LimitUseMethods, TenantHost> = {
  ...limitTables,
  open: (host) => {
    const { sql } = host;
    const { methods } = limitTables.open(host);
    return {
      methods: {
        ...methods,
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
