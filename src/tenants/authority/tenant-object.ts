// Owns the one authority of a tenant: the tables that every tenant has, and those that others bring.

import { authorityTables } from "./authority-tables.ts";
import { endedTables } from "./ended-tables.ts";
import { policyTables } from "./policy-tables.ts";
import { sectionTables } from "./section-tables.ts";
import { sessionRegister } from "./session-register.ts";
import type { Tables } from "./tables.ts";
import { createTablesObject, type TablesObjectClass } from "./tables-object.ts";
import { createTenantHost, type TenantHost } from "./tenant-host.ts";

/** Bind it as `TENANTS`. */
export function createTenantObject<Env>(tables: readonly Tables<object, TenantHost>[]): TablesObjectClass<Env> {
  const own = [authorityTables, endedTables, sessionRegister, policyTables, sectionTables];
  return createTablesObject<Env, TenantHost>([...own, ...tables], createTenantHost);
}
