// Routes for a tenant's limits: effective values with their source, usage, and setting one. Limits are members of the
// document, so that they have its history and its bases.

import { LIMIT_NAMES, LIMITS } from "../../limits/limit-definitions.ts";
import type { TenantRecord } from "../../tenants/object/policy-records.ts";
import type { LimitName, Limits } from "../../tenants/document/tenant-document.ts";
import { createLimitChecker, effectiveLimitsOf, getLimitUsage } from "../services/limit-rules.ts";
import { requireTenant, requireTenantRecord, type TenantHandle } from "../services/tenant-handle.ts";
import type { LimitsShape, Infer } from "../contract.ts";
import { ProblemError } from "../problem.ts";
import { defineRoutes, type AdminContext } from "../route.ts";
import { editDocument } from "./document-routes.ts";
import { LIMIT_ENDPOINTS } from "../endpoints/tenant-endpoints.ts";

export const limitRoutes = defineRoutes(LIMIT_ENDPOINTS, {
  "GET /tenants/{id}/limits": async (context) => ({
    body: await showLimits(context, await requireTenant(context, context.params.id)),
  }),
  "PUT /tenants/{id}/limits/{name}": async (context) => {
    const { id, name } = context.params;
    const { least, most } = LIMITS[name];
    const { value } = context.body;
    if (value < least || value > most) {
      const errors = [{ field: "value", rule: `a whole number from ${least} to ${most}` }];
      throw new ProblemError("invalid-input", { errors });
    }
    return editLimits(context, id, (limits) => ({ ...limits, [name]: value }));
  },
  "DELETE /tenants/{id}/limits/{name}": async (context) => {
    const { id, name } = context.params;
    return editLimits(context, id, (limits) =>
      Object.fromEntries(Object.entries(limits).filter(([other]) => other !== name)),
    );
  },
});

async function editLimits(context: AdminContext, id: string, change: (limits: Limits) => Limits) {
  const checkLimits = await createLimitChecker(context, id);
  return editDocument(context, id, {
    action: "limits",
    edit: (own) => {
      const { limits: before = {}, ...others } = own;
      const limits = change(before);
      // Removing the last limit also removes the member, as before the first limit was set.
      const next = Object.keys(limits).length === 0 ? others : { ...own, limits };
      const errors = checkLimits(own, next);
      if (errors.length > 0) throw new ProblemError("forbidden", { errors });
      return next;
    },
  });
}

async function showLimits(context: AdminContext, handle: TenantHandle): Promise<Infer<typeof LimitsShape>> {
  const record = await requireTenantRecord(handle);
  const [usage, content, keys] = await Promise.all([
    getLimitUsage(context, handle),
    handle.content.usage(),
    handle.policy.countActiveKeys(),
  ]);
  const effectiveLimits = effectiveLimitsOf(context, handle, record);
  const used: Partial<Record<LimitName, number>> = {
    dailyToolCalls: usage.calls.find(({ caller }) => caller === "")?.used ?? 0,
    principalDailyToolCalls: Math.max(0, ...usage.calls.filter(({ caller }) => caller !== "").map((one) => one.used)),
    tenantSessions: usage.sessions,
    resources: content.resources,
    storedBytes: content.bytes,
    keys,
  };
  return {
    exact: effectiveLimits.exact,
    items: LIMIT_NAMES.map((name) => ({
      name,
      value: finiteOrNull(effectiveLimits[name]),
      unit: LIMITS[name].unit,
      about: LIMITS[name].about,
      setBy: setBy(name, context, handle, record),
      raisedBy: LIMITS[name].raise,
      used: used[name] ?? null,
      met: usage.exceeded.find((one) => one.name === name)?.at ?? null,
    })),
  };
}

/** JSON has no Infinity, so null means no limit. */
function finiteOrNull(value: number): number | null {
  return value === Infinity ? null : value;
}

function setBy(name: LimitName, { options }: AdminContext, { tenant }: TenantHandle, { own, effective }: TenantRecord) {
  const value = effective.limits?.[name];
  if (value !== undefined) return own.limits?.[name] === value ? "tenant" : "base";
  if (tenant.base.limits?.[name] !== undefined) return "code";
  return options.catalog.limits?.[name] === undefined ? "default" : "worker";
}
