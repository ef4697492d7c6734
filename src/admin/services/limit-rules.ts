// Effective limits of a tenant in the admin API, who may raise them, and their usage.

import {
  LIMITS,
  resolveLimits,
  TENANT_LIMITS,
  type EffectiveLimits,
  type TenantLimit,
} from "../../limits/limit-definitions.ts";
import { limitStore, type LimitUse } from "../../limits/limit-store.ts";
import type { TenantRecord } from "../../tenants/object/policy-records.ts";
import { createRpcClient } from "../../tenants/object/store.ts";
import { DEFAULT_PLACEMENT } from "../../tenants/directory/placement.ts";
import { tenantStubOf } from "../../tenants/directory/tenant-stubs.ts";
import { mergeDocuments, type TenantDocument, type FieldRule } from "../../tenants/document/tenant-document.ts";
import type { AdminContext } from "../route.ts";
import { requireTenant, requireTenantRecord, type TenantHandle } from "./tenant-handle.ts";

type LimitChecker = (before: TenantDocument, after: TenantDocument) => FieldRule[];

/**
 * Returns errors for limits that the caller may not change. A tenant-admin may lower any limit, and raise those for
 * the tenant's own callers.
 */
export async function createLimitChecker(context: AdminContext, id: string): Promise<LimitChecker> {
  if (context.caller.role !== "tenant-admin") return () => [];
  const handle = await requireTenant(context, id);
  const effectiveLimits = effectiveLimitsOf(context, handle, await requireTenantRecord(handle));
  return ({ limits: before = {} }, { limits: after = {} }) =>
    TENANT_LIMITS.filter((name) => isRaised(name, before[name], after[name], effectiveLimits))
      .map((name) => ({
        field: `limits.${name}`,
        rule: `only an operator may raise it above ${effectiveLimits[name]}`,
      }))
      .concat(
        (before.exact ?? effectiveLimits.exact) && after.exact !== true && after.exact !== before.exact
          ? [{ field: "limits.exact", rule: "only an operator may take it back" }]
          : [],
      );
}

function isRaised(
  name: TenantLimit,
  before: number | undefined,
  after: number | undefined,
  effectiveLimits: EffectiveLimits,
): boolean {
  if (LIMITS[name].raise !== "operator" || before === after) return false;
  // Without the member, the limit below the document applies, which may be higher than the current one.
  return after === undefined || after > (before ?? effectiveLimits[name]);
}

export function effectiveLimitsOf(
  { options }: AdminContext,
  { tenant }: TenantHandle,
  { effective }: TenantRecord,
): EffectiveLimits {
  return resolveLimits(options.catalog.limits, mergeDocuments([tenant.base, effective]).limits);
}

/** The usage that the tenant object knows. */
export function getLimitUsage({ env }: AdminContext, { id, entry, created }: TenantHandle): Promise<LimitUse> {
  return createRpcClient(
    tenantStubOf(env, { id, placement: entry ?? DEFAULT_PLACEMENT, uid: created }),
    limitStore,
  ).use();
}
