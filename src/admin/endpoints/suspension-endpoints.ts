// Routes of the admin API: suspension.

import { Acknowledged, NewSuspension, SuspensionKind, SuspensionShape, pageShapeOf } from "../contract.ts";
import { PageQuery, ROLES, TenantParams, endpoints } from "../endpoint.ts";
import { object, textUpTo } from "../schema-parts.ts";

const KindParams = object({ ...TenantParams.shape, kind: SuspensionKind });
const NameParams = object({ ...KindParams.shape, name: textUpTo(512, 1) });
const ACKNOWLEDGED = { status: 200, schema: Acknowledged, about: "In force everywhere" };

export const SUSPENSION_ENDPOINTS = endpoints({
  "GET /tenants/{id}/suspensions": {
    summary: "List what is suspended, tools that are blocked in every tenant included",
    roles: ROLES.tenantRead,
    params: TenantParams,
    query: object(PageQuery),
    replies: [{ status: 200, schema: pageShapeOf(SuspensionShape), about: "Suspensions" }],
  },
  "POST /tenants/{id}/suspensions": {
    summary: "Suspend; callers are told the note",
    roles: ROLES.tenant,
    params: TenantParams,
    body: NewSuspension,
    replies: [ACKNOWLEDGED, { status: 202, schema: Acknowledged, about: "Not confirmed: the tenant's object is away" }],
  },
  "DELETE /tenants/{id}/suspensions/{kind}": {
    summary: "Resume a tenant",
    roles: ROLES.platform,
    params: KindParams,
    replies: [ACKNOWLEDGED],
  },
  "DELETE /tenants/{id}/suspensions/{kind}/{name}": {
    summary: "Resume a profile, a principal or a tool",
    roles: ROLES.tenant,
    params: NameParams,
    replies: [ACKNOWLEDGED],
  },
});
