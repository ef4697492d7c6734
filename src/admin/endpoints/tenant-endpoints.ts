// Routes of the admin API: tenant.

import { Applied, MadeTenant, NewTenant, TenantShape, TenantSummary, pageShapeOf } from "../contract.ts";
import { Flag, PageQuery, ROLES, TenantParams, UnknownNames, endpoints } from "../endpoint.ts";
import { object, textUpTo } from "../schema-parts.ts";

export const TENANT_ENDPOINTS = endpoints({
  "GET /tenants": {
    summary: "List tenants",
    roles: ROLES.tenantRead,
    query: object(PageQuery),
    replies: [
      { status: 200, schema: pageShapeOf(TenantSummary), about: "Tenants, by id; a tenant-admin sees its own" },
    ],
  },
  "POST /tenants": {
    summary: "Make a tenant; dryRun says what would be made",
    roles: ROLES.platform,
    query: object({}, { dryRun: Flag, unknownNames: UnknownNames }),
    body: NewTenant,
    replies: [
      {
        status: 200,
        schema: Applied,
        isOfDryRun: true,
        about: "Of a dry run: it could be made, and what would be in its document",
      },
      { status: 201, schema: MadeTenant, about: "The tenant, which serves from now on" },
    ],
  },
  "GET /tenants/{id}": {
    summary: "Show a tenant",
    roles: ROLES.tenantRead,
    params: TenantParams,
    replies: [{ status: 200, schema: TenantShape, about: "The tenant" }],
  },
  "DELETE /tenants/{id}": {
    summary: "Delete a tenant and everything it has; a try that was cut off can be repeated",
    roles: ROLES.platform,
    params: TenantParams,
    query: object({}, { created: textUpTo(40) }),
    replies: [{ status: 204, about: "Nothing of it is left" }],
  },
});
