// Audit entries of operators' edits on their way to the tenant object, which stores the log. Each is stored with its
// edit and sent until it has arrived. An edit does not wait for delivery.

import type { RpcClient, StoreHost, Store } from "../tenants/object/store.ts";
import type { EditEntry } from "./edit.ts";
import { editLogStore } from "./edit-log-store.ts";
import { authorityClientOf, contentOwnerOf } from "./admission.ts";

const SEND_BATCH = 100;

export interface OutboxMethods {
  /** Settles when every entry stored before has arrived. Rejects when the tenant object cannot be reached. */
  deliver(): Promise<void>;
}

export type OutboxRpc = RpcClient<OutboxMethods>;

export const editOutboxStore: Store<OutboxMethods> = {
  name: "edits",
  methods: { deliver: { idempotent: true } },
  // The table is among the migrations of the content store, whose writes fill it.
  migrations: [],
  open: (host) => ({
    methods: { deliver: () => deliverEntries(host) },
    alarm: async () => {
      await deliverEntries(host);
      return undefined;
    },
  }),
};

/** Two concurrent deliveries send the same entries, and the tenant object writes each once. */
async function deliverEntries(host: StoreHost): Promise<void> {
  const { sql } = host;
  for (;;) {
    const entries = sql
      .exec<EditEntry & Record<string, SqlStorageValue>>(
        "SELECT * FROM edit_outbox ORDER BY sequence LIMIT ?",
        SEND_BATCH,
      )
      .toArray();
    const [last, created] = [entries.at(-1), contentOwnerOf(sql)];
    if (!last || created === undefined) return;
    await authorityClientOf(host, created, editLogStore).record(entries);
    sql.exec("DELETE FROM edit_outbox WHERE sequence <= ?", last.sequence);
  }
}
