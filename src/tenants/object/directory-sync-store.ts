// Syncs to the directory whether the tenant is suspended, for lists of tenants. The last synced value is compared with
// the current one, and sent again until it arrives. It does not decide admission, and no suspension waits for it.

import type { DirectoryEnv } from "../directory/directory.ts";
import { directoryOf } from "../directory/directory-stub.ts";
import type { TenantHost } from "./tenant-host.ts";
import type { Store } from "./store.ts";

interface UnsyncedSuspension {
  [column: string]: SqlStorageValue;
  created: string;
  suspended: number;
  version: number;
}

const UNSYNCED =
  "SELECT created, suspended, version FROM tenant, directory_sync WHERE suspended <> EXISTS (SELECT 1 FROM suspensions WHERE kind = 'tenant')";

/** A transaction that suspends or resumes the tenant must also schedule the alarm. */
export const directorySyncStore: Store<object, TenantHost> = {
  name: "directory-sync",
  methods: {},
  migrations: [
    "CREATE TABLE directory_sync (one INTEGER PRIMARY KEY CHECK (one = 1), suspended INTEGER NOT NULL, version INTEGER NOT NULL)",
    "INSERT INTO directory_sync VALUES (1, 0, 0)",
  ],
  open: (host) => ({
    methods: {},
    alarm: async () => {
      await syncDirectory(host);
      return undefined;
    },
  }),
};

function findUnsynced({ sql }: TenantHost): UnsyncedSuspension | undefined {
  return sql.exec<UnsyncedSuspension>(UNSYNCED).toArray()[0];
}

/** Each update has a version, so that a late one does not undo a newer one. */
async function syncDirectory(host: TenantHost): Promise<void> {
  const { sql, tenant, env } = host;
  for (let unsynced = findUnsynced(host); unsynced; unsynced = findUnsynced(host)) {
    const { created } = unsynced;
    const suspended = 1 - unsynced.suspended;
    const version = unsynced.version + 1;
    sql.exec("UPDATE directory_sync SET version = ?", version);
    await directoryOf(env as DirectoryEnv, tenant).setSuspended({ id: tenant, created }, suspended, version);
    sql.exec("UPDATE directory_sync SET suspended = ? WHERE version = ?", suspended, version);
  }
}
