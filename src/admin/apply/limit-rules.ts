// Owns which limits hold for a tenant as an operator's request finds it, who may raise which, and what is used of them.

import {
  LIMITS,
  limitsInForce,
  TENANT_LIMITS,
  type LimitsInForce,
  type TenantLimit,
} from "../../limits/limit-table.ts";
import { limitTables, type LimitUse } from "../../limits/limit-tables.ts";
import type { TenantRecord } from "../../tenants/authority/policy-records.ts";
import { remote } from "../../tenants/authority/tables.ts";
import { ANYWHERE } from "../../tenants/directory/placement.ts";
import { stubOf } from "../../tenants/directory/tenant-stub.ts";
import { mergeDocuments, type TenantDocument } from "../../tenants/document/tenant-document.ts";
import type { FieldRule } from "../field-rule.ts";
import type { Desk } from "../route.ts";
import { findManaged, readRecord, type Managed } from "./tenant-access.ts";

type Judge = (before: TenantDocument, after: TenantDocument) => FieldRule[];

/** What somebody may not change of a tenant's limits: an admin of the tenant lowers them, and raises its callers' own. */
export async function limitJudge(desk: Desk, id: string): Promise<Judge> {
  if (desk.caller.role !== "tenant-admin") return () => [];
  const managed = await findManaged(desk, id);
  const inForce = limitsThatHold(desk, managed, await readRecord(managed));
  return ({ limits: before = {} }, { limits: after = {} }) =>
    TENANT_LIMITS.filter((name) => isRaised(name, before[name], after[name], inForce))
      .map((name) => ({ field: `limits.${name}`, rule: `only an operator may raise it above ${inForce[name]}` }))
      .concat(
        (before.exact ?? inForce.exact) && after.exact !== true && after.exact !== before.exact
          ? [{ field: "limits.exact", rule: "only an operator may take it back" }]
          : [],
      );
}

function isRaised(
  name: TenantLimit,
  before: number | undefined,
  after: number | undefined,
  inForce: LimitsInForce,
): boolean {
  if (LIMITS[name].raise !== "operator" || before === after) return false;
  // What lies under the document may be more than what it says now.
  return after === undefined || after > (before ?? inForce[name]);
}

/** What holds, whoever said it. */
export function limitsThatHold({ options }: Desk, { tenant }: Managed, { effective }: TenantRecord): LimitsInForce {
  return limitsInForce(options.catalog.limits, mergeDocuments([tenant.base, effective]).limits);
}

/** What the tenant's authority knows of the use of its limits. */
export function limitUse({ env }: Desk, { id, entry, created }: Managed): Promise<LimitUse> {
  return remote(stubOf(env, { id, placement: entry ?? ANYWHERE, incarnation: created }), limitTables).use();
}
