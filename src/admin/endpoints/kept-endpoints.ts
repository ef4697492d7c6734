// Routes of the admin API: kept.

import { KeptShape, PutBack, PutBackDone } from "../kept-schema.ts";
import { ROLES, TenantParams, endpoints } from "../endpoint.ts";

export const KEPT_ENDPOINTS = endpoints({
  "GET /tenants/{id}/kept": {
    summary: "Read what a backup has beside the export",
    roles: ROLES.platform,
    params: TenantParams,
    replies: [{ status: 200, schema: KeptShape, about: "Keys by their hashes, sealed secrets" }],
  },
  "PUT /tenants/{id}/kept": {
    summary: "Put back what is missing of a backup",
    roles: ROLES.platform,
    params: TenantParams,
    body: PutBack,
    replies: [{ status: 200, schema: PutBackDone, about: "Put back" }],
  },
});
