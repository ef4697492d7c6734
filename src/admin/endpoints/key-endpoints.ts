// Routes of the admin API: key.

import { Acknowledged, ApiKey, CreatedKey, NewApiKey, RotateKey, pageShapeOf } from "../contract.ts";
import { PageQuery, ROLES, TenantParams, endpoints } from "../endpoint.ts";
import { matching, object } from "../schema-parts.ts";

export const KeyParams = object({
  ...TenantParams.shape,
  key: matching(/^[0-9A-Za-z]{10}$/, "the id of a key, ten of 0-9, A-Z and a-z, and not the key itself"),
});

export const KEY_ENDPOINTS = endpoints({
  "GET /tenants/{id}/keys": {
    summary: "List API keys",
    roles: ROLES.tenantRead,
    params: TenantParams,
    query: object(PageQuery),
    replies: [{ status: 200, schema: pageShapeOf(ApiKey), about: "Keys, oldest first" }],
  },
  "POST /tenants/{id}/keys": {
    summary: "Make an API key",
    roles: ROLES.tenant,
    params: TenantParams,
    body: NewApiKey,
    replies: [{ status: 201, schema: CreatedKey, about: "The key, with its token, which is shown this once" }],
  },
  // Before the one with a parameter, which it would be taken for.
  "POST /tenants/{id}/keys/own/rotate": {
    summary: "Make the key anew with which this is asked, once a day; the old one works on for the overlap",
    roles: [],
    isForKeys: true,
    params: TenantParams,
    body: RotateKey,
    replies: [{ status: 201, schema: CreatedKey, about: "The new key, with its token, which is shown this once" }],
  },
  "POST /tenants/{id}/keys/{key}/rotate": {
    summary: "Make a key anew; the old one works on for the overlap, a day unless it says otherwise",
    roles: ROLES.tenant,
    params: KeyParams,
    body: RotateKey,
    replies: [{ status: 201, schema: CreatedKey, about: "The new key, with its token, which is shown this once" }],
  },
  "DELETE /tenants/{id}/keys/{key}": {
    summary: "Revoke a key: when this answers, no request with it succeeds anywhere",
    roles: ROLES.tenant,
    params: KeyParams,
    replies: [{ status: 200, schema: Acknowledged, about: "In force; unchanged where there was no such key any more" }],
  },
});
