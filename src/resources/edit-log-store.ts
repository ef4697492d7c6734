// Writes the audit entries that the content object sends to the tenant object, which stores the audit log.

import type { Store } from "../tenants/object/store.ts";
import type { TenantHost } from "../tenants/object/tenant-host.ts";
import type { EditEntry } from "./edit.ts";

export interface EditLogMethods {
  /** Writes audit entries, each exactly once. */
  record(entries: readonly EditEntry[]): void;
}

export const editLogStore: Store<EditLogMethods, TenantHost> = {
  name: "edit-log",
  methods: { record: {} },
  migrations: ["CREATE TABLE last_recorded_edit (one INTEGER PRIMARY KEY CHECK (one = 1), sequence INTEGER NOT NULL)"],
  open: (host) => ({
    methods: {
      record: (entries) => {
        host.transaction(() => {
          recordEntries(host, entries);
        });
      },
    },
  }),
};

function recordEntries(host: TenantHost, entries: readonly EditEntry[]): void {
  const { sql } = host;
  const [row] = sql.exec<{ sequence: number }>("SELECT sequence FROM last_recorded_edit").toArray();
  const lastSequence = row?.sequence ?? 0;
  for (const { sequence, at, actor, action, target, before, after } of entries) {
    if (sequence <= lastSequence) continue;
    const [previous, next] = [before, after].map((text) => JSON.parse(text) as unknown);
    host.record({ name: actor }, action, target, { before: previous, after: next, at: Date.parse(at) });
  }
  const last = Math.max(lastSequence, entries.at(-1)?.sequence ?? 0);
  sql.exec("INSERT OR REPLACE INTO last_recorded_edit (one, sequence) VALUES (1, ?)", last);
}
