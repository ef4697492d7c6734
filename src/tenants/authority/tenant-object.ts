// Owns the Durable Object that is a tenant's one authority: the tables that every tenant has, and those of features.

import { authorityTables } from "./authority-tables.ts";
import { endedTables } from "./ended-tables.ts";
import { leaseTables } from "./lease-tables.ts";
import { sectionRows } from "./section-rows.ts";
import { sessionRegister } from "./session-register.ts";
import type { Tables } from "./tables.ts";
import { createTablesObject, type TablesObjectClass } from "./tables-object.ts";
import { createTenantHost, type TenantHost } from "./tenant-host.ts";

const own: readonly Tables<object, TenantHost>[] = [
  authorityTables,
  endedTables,
  sessionRegister,
  leaseTables,
  sectionRows,
];

/**
 * The class to bind as `TENANTS`. Of tables with one name the last are opened: policy-tables.ts takes the place of
 * lease-tables.ts.
 */
export function createTenantObject<Env>(tables: readonly Tables<object, TenantHost>[]): TablesObjectClass<Env> {
  const byName = new Map([...own, ...tables].map((entry) => [entry.name, entry]));
  return createTablesObject<Env, TenantHost>([...byName.values()], createTenantHost);
}
