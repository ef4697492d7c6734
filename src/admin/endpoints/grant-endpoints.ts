// Routes of the admin API: grant.

import { Acknowledged, GrantShape, LoginClientShape, pageShapeOf } from "../contract.ts";
import { PageQuery, ROLES, TenantParams, endpoints } from "../endpoint.ts";
import { object, textUpTo } from "../schema-parts.ts";

const GrantParams = object({ ...TenantParams.shape, grant: textUpTo(100, 1) });
const ClientParams = object({ ...TenantParams.shape, client: textUpTo(2048, 1) });
const ENDED = {
  status: 200,
  schema: Acknowledged,
  about: "In force; unchanged where there was none any more",
};

export const GRANT_ENDPOINTS = endpoints({
  "GET /tenants/{id}/grants": {
    summary: "List grants",
    roles: ROLES.tenantRead,
    params: TenantParams,
    query: object(PageQuery, { principal: textUpTo(512, 1) }),
    replies: [{ status: 200, schema: pageShapeOf(GrantShape), about: "Grants" }],
  },
  "DELETE /tenants/{id}/grants/{grant}": {
    summary: "End a grant: when this answers, no request with it succeeds anywhere",
    roles: ROLES.tenant,
    params: GrantParams,
    replies: [ENDED],
  },
  "GET /tenants/{id}/login-clients": {
    summary: "List login clients",
    roles: ROLES.tenantRead,
    params: TenantParams,
    query: object(PageQuery),
    replies: [{ status: 200, schema: pageShapeOf(LoginClientShape), about: "Clients" }],
  },
  "DELETE /tenants/{id}/login-clients/{client}": {
    summary: "Remove a login client and end its grants",
    roles: ROLES.tenant,
    params: ClientParams,
    replies: [ENDED],
  },
});
