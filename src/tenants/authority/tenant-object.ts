// Owns the one authority of a tenant: the tables that every tenant has, and those that others bring.

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

/** Bind it as `TENANTS`. Of tables with one name the last are opened: those that change what others only read. */
export function createTenantObject<Env>(tables: readonly Tables<object, TenantHost>[]): TablesObjectClass<Env> {
  const byName = new Map([...own, ...tables].map((entry) => [entry.name, entry]));
  return createTablesObject<Env, TenantHost>([...byName.values()], createTenantHost);
}
