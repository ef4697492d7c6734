// Routes of the admin API: secret.

import { Acknowledged, NewSecret, Secret, SecretName, pageShapeOf } from "../contract.ts";
import { Flag, PageQuery, ROLES, TenantParams, endpoints } from "../endpoint.ts";
import { object } from "../schema-parts.ts";

export const SecretParams = object({ ...TenantParams.shape, name: SecretName });

export const SECRET_ENDPOINTS = endpoints({
  "GET /tenants/{id}/secrets": {
    summary: "List secrets, without their values, which nothing shows",
    roles: ROLES.tenantRead,
    params: TenantParams,
    query: object(PageQuery),
    replies: [{ status: 200, schema: pageShapeOf(Secret), about: "Secrets, by name" }],
  },
  "PUT /tenants/{id}/secrets/{name}": {
    summary: "Set a secret: when a replacement is answered, no tool anywhere gets what was there before",
    roles: ROLES.tenant,
    params: SecretParams,
    query: object({}, { wait: Flag }),
    body: NewSecret,
    replies: [{ status: 200, schema: Acknowledged, about: "Set; a new one is seen everywhere from effectiveAt on" }],
  },
  "DELETE /tenants/{id}/secrets/{name}": {
    summary: "Delete a secret: when this answers, no tool anywhere gets it",
    roles: ROLES.tenant,
    params: SecretParams,
    replies: [{ status: 200, schema: Acknowledged, about: "In force; unchanged where there was none any more" }],
  },
});
