// Routes of the admin API: export.

import { ExportLine } from "../contract.ts";
import { ROLES, TenantParams, endpoints } from "../endpoint.ts";

export const EXPORT_ENDPOINTS = endpoints({
  "GET /tenants/{id}/export": {
    summary: "Export a tenant: its document, and what there is of resources; no keys, and no secrets",
    roles: ROLES.tenantRead,
    params: TenantParams,
    replies: [{ status: 200, schema: ExportLine, mediaType: "application/x-ndjson", about: "One JSON text a line" }],
  },
});
