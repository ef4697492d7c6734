// Owns the platform's one object: operators, base documents, blocked tools and fleet runs. It is asked by the admin API
// only, never for a client's request.

import { createTablesObject } from "../../tenants/authority/tables-object.ts";
import { meaning, WHOEVER, type TenantStub } from "../../tenants/authority/incarnation.ts";
import { baseTables } from "./base-tables.ts";
import { fleetTables } from "./fleet-tables.ts";
import { operatorTables } from "./operator-tables.ts";

/** Bind it as `PLATFORM`. It has tables as a tenant's object has, and there is one instance. */
export class PlatformObject extends createTablesObject([operatorTables, baseTables, fleetTables], {
  hostOf: (base) => base,
  isMeant: () => true,
}) {}

export interface PlatformEnv {
  readonly PLATFORM: DurableObjectNamespace<PlatformObject>;
}

export function platformOf(env: PlatformEnv): TenantStub {
  return meaning(env.PLATFORM.getByName("platform"), WHOEVER);
}
