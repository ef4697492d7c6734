// Owns what a tenant's authority says to the object that is to keep its content: that there is such a tenant, whether releases
// up to 0.1.0 kept content here, and from which version on changes are counted there.

import { hasTable } from "../../tenants/authority/has-table.ts";
import { changeFact, newestVersion } from "../../tenants/authority/change-tables.ts";
import type { Tables } from "../../tenants/authority/tables.ts";
import type { TenantHost } from "../../tenants/authority/tenant-host.ts";

export interface HandoverMethods {
  handOver(): {
    /** Whether there are rows to be handed over: `earlierPages` does that. */
    readonly holds: boolean;
    /** The newest version of the changes that are handed over, and that from which on they are complete. */
    readonly version: number;
    readonly floor: number;
  };
}

export const handoverTables: Tables<HandoverMethods, TenantHost> = {
  name: "earlier-content",
  migrations: ["CREATE TABLE recorded_edits (one INTEGER PRIMARY KEY CHECK (one = 1), sequence INTEGER NOT NULL)"],
  open: ({ sql }) => ({
    methods: {
      handOver: () => ({
        holds: hasTable(sql, "resources"),
        version: newestVersion(sql),
        floor: changeFact(sql, "floor"),
      }),
    },
  }),
};
