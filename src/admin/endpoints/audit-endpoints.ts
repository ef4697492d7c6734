// Routes of the admin API: audit.

import { AuditRow, Usage, pageShapeOf } from "../contract.ts";
import { PageQuery, ROLES, TenantParams, endpoints } from "../endpoint.ts";
import { object } from "../schema-parts.ts";

export const AUDIT_ENDPOINTS = endpoints({
  "GET /audit": {
    summary: "The platform's audit log: operators, bases, blocked tools, deleted tenants",
    roles: ROLES.platformRead,
    query: object(PageQuery),
    replies: [{ status: 200, schema: pageShapeOf(AuditRow), about: "Entries, newest first" }],
  },
  "GET /tenants/{id}/audit": {
    summary: "A tenant's audit log",
    roles: ROLES.tenantRead,
    params: TenantParams,
    query: object(PageQuery),
    replies: [{ status: 200, schema: pageShapeOf(AuditRow), about: "Entries, newest first" }],
  },
  "GET /tenants/{id}/usage": {
    summary: "How much a tenant has",
    roles: ROLES.tenantRead,
    params: TenantParams,
    replies: [{ status: 200, schema: Usage, about: "Counts, and the limits that hold" }],
  },
});
