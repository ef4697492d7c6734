// Routes of the admin API: limit.

import * as z from "zod";
import { Applied, LimitSet, LimitsShown } from "../contract.ts";
import { ROLES, TenantParams, endpoints } from "../endpoint.ts";
import { object } from "../schema-parts.ts";
import { TENANT_LIMITS } from "../../limits/limit-table.ts";

const LimitParams = object({ ...TenantParams.shape, name: z.enum([...TENANT_LIMITS]) });
const APPLIED = { status: 200, schema: Applied, about: "What changed" };

export const LIMIT_ENDPOINTS = endpoints({
  "GET /tenants/{id}/limits": {
    summary: "Each limit of a tenant: its value, who set it, and what is used of it",
    roles: ROLES.tenantRead,
    params: TenantParams,
    replies: [{ status: 200, schema: LimitsShown, about: "Limits, and which of them somebody met" }],
  },
  "PUT /tenants/{id}/limits/{name}": {
    summary: "Set a limit of a tenant; only operators raise what protects others",
    roles: ROLES.tenant,
    params: LimitParams,
    body: LimitSet,
    replies: [APPLIED],
  },
  "DELETE /tenants/{id}/limits/{name}": {
    summary: "Take a limit out of a tenant's own document, so that what lies under it holds",
    roles: ROLES.tenant,
    params: LimitParams,
    replies: [APPLIED],
  },
});
