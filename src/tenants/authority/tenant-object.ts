// Owns the Durable Object that is a tenant's one authority: the tables that every tenant has, and those of features.

import { authorityTables } from "./authority-tables.ts";
import { endedTables } from "./ended-tables.ts";
import { policyTables } from "./policy-tables.ts";
import type { LeaseAsk } from "./policy-records.ts";
import { sectionRows } from "./section-rows.ts";
import { sessionRegister } from "./session-register.ts";
import type { Tables } from "./tables.ts";
import { createTablesObject, type TablesObjectClass } from "./tables-object.ts";
import { WHOEVER, type Incarnation, type Ran } from "./incarnation.ts";
import { createTenantHost, type TenantHost } from "./tenant-host.ts";

const own: readonly Tables<object, TenantHost>[] = [
  authorityTables,
  endedTables,
  sessionRegister,
  policyTables,
  sectionRows,
];

export function createTenantObject<Env>(tables: readonly Tables<object, TenantHost>[]): TablesObjectClass<Env> {
  return createTablesObject<Env, TenantHost>([...own, ...tables], { hostOf: createTenantHost, isMeant, absent });
}

/** Anybody may ask about any name. A tenant in code is made by its first lease. */
function absent(method: string, ask: unknown, meant: Incarnation): Ran | undefined {
  if (meant !== WHOEVER) return { gone: true };
  if (method === "policy.lease" && !(ask as LeaseAsk).inCode) return { value: { state: "absent" } };
  return method === "policy.changed" ? { value: 0 } : undefined;
}

/** The tenant that is here; for what belongs to its end, also the one that is ending here, or that was never made. */
function isMeant(host: TenantHost, meant: Incarnation, isEnding: boolean): boolean {
  if (meant === WHOEVER) return true;
  const current = host.created();
  if (meant === current) return true;
  return isEnding && current === undefined && (host.closure.ending() ?? meant) === meant;
}
