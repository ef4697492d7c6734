// Owns the routes for a tenant's limits: which hold, who said so, what is used of them, and setting one. A limit is a
// member of the document, so that it has its history and its bases.

import { LIMIT_NAMES, LIMITS } from "../../limits/limit-table.ts";
import type { TenantRecord } from "../../tenants/authority/policy-records.ts";
import type { LimitName, Limits } from "../../tenants/document/tenant-document.ts";
import { limitJudge, limitsThatHold, limitUse } from "../apply/limit-rules.ts";
import { findManaged, readRecord, type Managed } from "../apply/tenant-access.ts";
import type { LimitsShown, Infer } from "../contract.ts";
import { ProblemError } from "../problem.ts";
import { routes, type Desk } from "../route.ts";
import { applied } from "./document-routes.ts";
import { LIMIT_ENDPOINTS } from "../endpoints/tenant-endpoints.ts";

export const limitRoutes = routes(LIMIT_ENDPOINTS, {
  "GET /tenants/{id}/limits": async (call) => ({
    body: await showLimits(call, await findManaged(call, call.params.id)),
  }),
  "PUT /tenants/{id}/limits/{name}": async (call) => {
    const { id, name } = call.params;
    const { least, most } = LIMITS[name];
    const { value } = call.body;
    if (value < least || value > most) {
      const errors = [{ field: "value", rule: `a whole number from ${least} to ${most}` }];
      throw new ProblemError("invalid-input", { errors });
    }
    return edit(call, id, (limits) => ({ ...limits, [name]: value }));
  },
  "DELETE /tenants/{id}/limits/{name}": async (call) => {
    const { id, name } = call.params;
    return edit(call, id, (limits) => Object.fromEntries(Object.entries(limits).filter(([other]) => other !== name)));
  },
});

async function edit(desk: Desk, id: string, change: (limits: Limits) => Limits) {
  const judge = await limitJudge(desk, id);
  return applied(desk, id, {
    action: "limits",
    edit: (own) => {
      const { limits: before = {}, ...others } = own;
      const limits = change(before);
      // A document that says nothing of limits any more is as it was before it did.
      const next = Object.keys(limits).length === 0 ? others : { ...own, limits };
      const errors = judge(own, next);
      if (errors.length > 0) throw new ProblemError("forbidden", { errors });
      return next;
    },
  });
}

async function showLimits(desk: Desk, managed: Managed): Promise<Infer<typeof LimitsShown>> {
  const record = await readRecord(managed);
  const [use, content, keys] = await Promise.all([
    limitUse(desk, managed),
    managed.content.usage(),
    managed.policy.countKeys(),
  ]);
  const inForce = limitsThatHold(desk, managed, record);
  const used: Partial<Record<LimitName, number>> = {
    dailyToolCalls: use.calls.find(({ who }) => who === "")?.used ?? 0,
    principalDailyToolCalls: Math.max(0, ...use.calls.filter(({ who }) => who !== "").map((one) => one.used)),
    tenantSessions: use.sessions,
    resources: content.resources,
    storedBytes: content.bytes,
    keys,
  };
  return {
    exact: inForce.exact,
    items: LIMIT_NAMES.map((name) => ({
      name,
      value: numberOf(inForce[name]),
      unit: LIMITS[name].unit,
      about: LIMITS[name].about,
      setBy: setBy(name, desk, managed, record),
      raisedBy: LIMITS[name].raise,
      used: used[name] ?? null,
      met: use.met.find((one) => one.name === name)?.at ?? null,
    })),
  };
}

/** JSON has no Infinity: null is no limit. */
function numberOf(value: number): number | null {
  return value === Infinity ? null : value;
}

function setBy(name: LimitName, { options }: Desk, { tenant }: Managed, { own, effective }: TenantRecord) {
  const said = effective.limits?.[name];
  if (said !== undefined) return own.limits?.[name] === said ? "tenant" : "base";
  if (tenant.base.limits?.[name] !== undefined) return "code";
  return options.catalog.limits?.[name] === undefined ? "default" : "worker";
}
