// Endpoints for access: keys, grants, suspensions, operators.

import {
  ChangeResult,
  ApiKeyShape,
  CreatedKeyShape,
  CreatedOperator,
  GrantShape,
  LoginClientShape,
  Name,
  NewApiKey,
  NewOperator,
  NewSuspension,
  Operator,
  RotateKey,
  SuspensionKind,
  SuspensionShape,
  pageShapeOf,
} from "../contract.ts";
import { PageQuery, ROLES, TenantParams, defineEndpoints } from "../endpoint.ts";
import { textMatching, object, textUpTo } from "../schema-parts.ts";

export const KeyParams = object({
  ...TenantParams.shape,
  key: textMatching(/^[0-9A-Za-z]{10}$/, "must be the id of a key (ten of 0-9, A-Z and a-z), and not the key itself"),
});

export const KEY_ENDPOINTS = defineEndpoints({
  "GET /tenants/{id}/keys": {
    summary: "List API keys",
    roles: ROLES.tenantRead,
    params: TenantParams,
    query: object(PageQuery),
    replies: [{ status: 200, schema: pageShapeOf(ApiKeyShape), about: "Keys, oldest first" }],
  },
  "POST /tenants/{id}/keys": {
    summary: "Create an API key",
    roles: ROLES.tenant,
    params: TenantParams,
    body: NewApiKey,
    replies: [{ status: 201, schema: CreatedKeyShape, about: "The key, with its token, which is shown only once" }],
  },
  // This route comes before the one with a parameter, which would match the path, too.
  "POST /tenants/{id}/keys/self/rotate": {
    summary: "Rotate the key of this request, at most once a day; the old key works until the overlap ends",
    roles: [],
    isForKeys: true,
    params: TenantParams,
    body: RotateKey,
    replies: [{ status: 201, schema: CreatedKeyShape, about: "The new key, with its token, which is shown only once" }],
  },
  "POST /tenants/{id}/keys/{key}/rotate": {
    summary: "Rotate a key; the old key works until the overlap ends, by default for a day",
    roles: ROLES.tenant,
    params: KeyParams,
    body: RotateKey,
    replies: [{ status: 201, schema: CreatedKeyShape, about: "The new key, with its token, which is shown only once" }],
  },
  "DELETE /tenants/{id}/keys/{key}": {
    summary: "Revoke a key. After the answer, no request with it succeeds anywhere",
    roles: ROLES.tenant,
    params: KeyParams,
    replies: [{ status: 200, schema: ChangeResult, about: "In effect; not changed if the key was already gone" }],
  },
});

const GrantParams = object({ ...TenantParams.shape, grant: textUpTo(100, 1) });
const ClientParams = object({ ...TenantParams.shape, client: textUpTo(2048, 1) });
const GRANT_REPLY = {
  status: 200,
  schema: ChangeResult,
  about: "In effect; not changed if it was already gone",
};

export const GRANT_ENDPOINTS = defineEndpoints({
  "GET /tenants/{id}/grants": {
    summary: "List grants",
    roles: ROLES.tenantRead,
    params: TenantParams,
    query: object(PageQuery, { principal: textUpTo(512, 1) }),
    replies: [{ status: 200, schema: pageShapeOf(GrantShape), about: "Grants" }],
  },
  "DELETE /tenants/{id}/grants/{grant}": {
    summary: "End a grant. After the answer, no request with it succeeds anywhere",
    roles: ROLES.tenant,
    params: GrantParams,
    replies: [GRANT_REPLY],
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
    replies: [GRANT_REPLY],
  },
});

const KindParams = object({ ...TenantParams.shape, kind: SuspensionKind });
const NameParams = object({ ...KindParams.shape, name: textUpTo(512, 1) });
const SUSPENSION_REPLY = { status: 200, schema: ChangeResult, about: "In effect everywhere" };

export const SUSPENSION_ENDPOINTS = defineEndpoints({
  "GET /tenants/{id}/suspensions": {
    summary: "List suspensions, and the tools that are blocked in every tenant",
    roles: ROLES.tenantRead,
    params: TenantParams,
    query: object(PageQuery),
    replies: [{ status: 200, schema: pageShapeOf(SuspensionShape), about: "Suspensions" }],
  },
  "POST /tenants/{id}/suspensions": {
    summary: "Suspend a tenant, profile, principal or tool; callers get the note",
    roles: ROLES.tenant,
    params: TenantParams,
    body: NewSuspension,
    replies: [
      SUSPENSION_REPLY,
      {
        status: 202,
        schema: ChangeResult,
        about: "Not confirmed, because the tenant's object does not answer; the suspension follows",
      },
    ],
  },
  "DELETE /tenants/{id}/suspensions/{kind}": {
    summary: "Resume a tenant",
    roles: ROLES.platform,
    params: KindParams,
    replies: [SUSPENSION_REPLY],
  },
  "DELETE /tenants/{id}/suspensions/{kind}/{name}": {
    summary: "Resume a profile, a principal or a tool",
    roles: ROLES.tenant,
    params: NameParams,
    replies: [SUSPENSION_REPLY],
  },
});

export const OPERATOR_ENDPOINTS = defineEndpoints({
  "GET /operators": {
    summary: "List operators",
    roles: ROLES.ownerRead,
    query: object(PageQuery),
    replies: [{ status: 200, schema: pageShapeOf(Operator), about: "Operators, by name" }],
  },
  "POST /operators": {
    summary: "Create an operator",
    roles: ROLES.owner,
    body: NewOperator,
    replies: [
      { status: 201, schema: CreatedOperator, about: "The operator, with the token, which is shown only once" },
    ],
  },
  "DELETE /operators/{name}": {
    summary: "Delete an operator; the token stops working at once",
    roles: ROLES.owner,
    params: object({ name: Name }),
    replies: [{ status: 204, about: "Removed" }],
  },
});
