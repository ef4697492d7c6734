// Owns telling the directory whether the tenant is suspended, for lists of tenants: what it was told is compared with what
// is, and said again until it has arrived. Nobody is let in or refused by it, and no suspension waits for it.

import type { DirectoryEnv } from "../directory/directory.ts";
import { directoryOf } from "../directory/directory-stub.ts";
import type { TenantHost } from "./tenant-host.ts";
import type { Tables } from "./tables.ts";

interface Untold {
  [column: string]: SqlStorageValue;
  created: string;
  told: number;
  version: number;
}

const UNTOLD =
  "SELECT created, told, version FROM tenant, standing WHERE told <> EXISTS (SELECT 1 FROM suspensions WHERE kind = 'tenant')";

/** Whoever changes whether the tenant is suspended asks for the alarm in that transaction. */
export const standingTables: Tables<object, TenantHost> = {
  name: "standing",
  methods: {},
  migrations: [
    "CREATE TABLE standing (one INTEGER PRIMARY KEY CHECK (one = 1), told INTEGER NOT NULL, version INTEGER NOT NULL)",
    "INSERT INTO standing VALUES (1, 0, 0)",
  ],
  open: (host) => ({
    methods: {},
    alarm: async () => {
      await tell(host);
      return undefined;
    },
  }),
};

function untold({ sql }: TenantHost): Untold | undefined {
  return sql.exec<Untold>(UNTOLD).toArray()[0];
}

/** Each telling has a number, so that one that arrives late undoes no later one. */
async function tell(host: TenantHost): Promise<void> {
  const { sql, tenant, env } = host;
  for (let about = untold(host); about; about = untold(host)) {
    const { created } = about;
    const now = 1 - about.told;
    const version = about.version + 1;
    sql.exec("UPDATE standing SET version = ?", version);
    await directoryOf(env as DirectoryEnv, tenant).noteStanding({ id: tenant, created }, now, version);
    sql.exec("UPDATE standing SET told = ? WHERE version = ?", now, version);
  }
}
