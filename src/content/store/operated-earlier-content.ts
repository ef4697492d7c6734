// Owns what is asked of a tenant's authority about content where tenants have operators: the audit entries that the object of
// the content sends, and deleting what an earlier release kept at the tenant's end. The admin API alone does either.

import type { Tables } from "../../tenants/authority/tables.ts";
import type { TenantHost } from "../../tenants/authority/tenant-host.ts";
import { hasTable } from "../../tenants/authority/has-table.ts";
import { handoverTables, type HandoverMethods } from "./handover.ts";
import type { EditEntry } from "./edit.ts";
import { purgeKnown } from "./garbage.ts";

export interface OperatedEarlierMethods extends HandoverMethods {
  /** Deletes at most `limit` bodies of rows that were never handed over, as part of the tenant's end. */
  purge(limit: number): Promise<{ readonly done: boolean }>;
  /** Writes audit entries, each once. */
  record(entries: readonly EditEntry[]): void;
}

/** In the place of `handoverTables`, whose name it has. */
export const operatedEarlierContent: Tables<OperatedEarlierMethods, TenantHost> = {
  ...handoverTables,
  ending: ["purge"],
  open: (host) => ({
    methods: {
      ...handoverTables.open(host).methods,
      purge: async (limit) => ({ done: !hasTable(host.sql, "resources") || (await purgeKnown(host, limit)) === 0 }),
      record: (entries) => {
        host.transaction(() => {
          recordAll(host, entries);
        });
      },
    },
  }),
};

function recordAll(host: TenantHost, entries: readonly EditEntry[]): void {
  const { sql } = host;
  const [known] = sql.exec<{ sequence: number }>("SELECT sequence FROM recorded_edits").toArray();
  const recorded = known?.sequence ?? 0;
  for (const { sequence, at, actor, action, target, before, after } of entries) {
    if (sequence <= recorded) continue;
    const [was, is] = [before, after].map((text) => JSON.parse(text) as unknown);
    host.record({ name: actor }, action, target, { before: was, after: is, at: Date.parse(at) });
  }
  const last = Math.max(recorded, entries.at(-1)?.sequence ?? 0);
  sql.exec("INSERT OR REPLACE INTO recorded_edits (one, sequence) VALUES (1, ?)", last);
}
