// Owns the platform's one object: operators, base documents, blocked tools and fleet runs. It is asked by the admin API
// only, never for a client's request.

import { createTablesObject } from "../../tenants/authority/tables-object.ts";
import type { TenantStub } from "../../tenants/authority/tables.ts";
import { baseTables } from "./base-tables.ts";
import { fleetTables } from "./fleet-tables.ts";
import { operatorTables } from "./operator-tables.ts";

/** Bind it as `PLATFORM`. It has tables as a tenant's object has, and there is one instance. */
export class PlatformObject extends createTablesObject([operatorTables, baseTables, fleetTables], (base) => base) {}

export interface PlatformEnv {
  readonly PLATFORM: DurableObjectNamespace<PlatformObject>;
}

export function platformOf(env: PlatformEnv): TenantStub {
  return env.PLATFORM.getByName("platform");
}
