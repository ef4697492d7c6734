// Owns `tenantry/objects`: what a Worker without features has to export, so that one line does: `export * from "tenantry/objects"`.
// Refuses Workers with features that keep something, whose classes are in `worker.exports`.
// oxlint-disable oxc/no-barrel-file

import { exportPlainObjects } from "./deployment/plain-objects.ts";
import { createStoredRuns } from "./http/stored-runs-entrypoint.ts";
import type { Env } from "./http/visit.ts";
import { limitTables } from "./limits/limit-tables.ts";
import { createTenantObject } from "./tenants/authority/tenant-object.ts";

export { ContentObject } from "./content/store/content-object.ts";
export { SessionObject } from "./sessions/session-object.ts";
export { HubObject } from "./streams/hub-object.ts";
export { DirectoryObject } from "./tenants/directory/directory-object.ts";

export const TenantObject = createTenantObject<Env>([limitTables]);
export const StoredRuns = createStoredRuns();

exportPlainObjects();
