// Owns the audit entries of operators' edits on their way to the tenant's authority, which keeps the log: each is stored
// with its edit, and sent until it has arrived. An edit waits for nobody.

import type { Remote, TableHost, Tables } from "../../tenants/authority/tables.ts";
import type { EditEntry } from "./edit.ts";
import { editLog } from "./edit-log.ts";
import { authorityOf, keptFor } from "./admission.ts";

const SENT_AT_ONCE = 100;

export interface OutboxMethods {
  /** Settles when everything that was stored before has arrived. Rejects when the authority cannot be reached. */
  deliver(): Promise<void>;
}

export type RemoteOutbox = Remote<OutboxMethods>;

export const editOutbox: Tables<OutboxMethods> = {
  name: "edits",
  methods: { deliver: { idempotent: true } },
  // Their table is among those of the content, whose writes fill it.
  migrations: [],
  open: (host) => ({
    methods: { deliver: () => deliver(host) },
    alarm: async () => {
      await deliver(host);
      return undefined;
    },
  }),
};

/** Two that deliver at once send the same entries, and the authority writes each once. */
async function deliver(host: TableHost): Promise<void> {
  const { sql } = host;
  for (;;) {
    const entries = sql
      .exec<EditEntry & Record<string, SqlStorageValue>>("SELECT * FROM edits ORDER BY sequence LIMIT ?", SENT_AT_ONCE)
      .toArray();
    const [last, created] = [entries.at(-1), keptFor(sql)];
    if (!last || created === undefined) return;
    await authorityOf(host, created, editLog).record(entries);
    sql.exec("DELETE FROM edits WHERE sequence <= ?", last.sequence);
  }
}
