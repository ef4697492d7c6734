// Routes of the admin API: fault.

import { CountersShown, FaultRow, pageShapeOf } from "../contract.ts";
import { PageQuery, ROLES, TenantParams, endpoints } from "../endpoint.ts";
import { object, textUpTo } from "../schema-parts.ts";

const Query = object(PageQuery, { requestId: textUpTo(200, 1) });
const REPLIES = [{ status: 200, schema: pageShapeOf(FaultRow), about: "Errors, newest first" }];

export const FAULT_ENDPOINTS = endpoints({
  "GET /faults": {
    summary: "Errors of all tenants; with requestId, those of the request whose client was told it",
    roles: ROLES.platformRead,
    query: Query,
    replies: REPLIES,
  },
  "GET /tenants/{id}/faults": {
    summary: "The last errors of a tenant's requests",
    roles: ROLES.tenantRead,
    params: TenantParams,
    query: Query,
    replies: REPLIES,
  },
  "GET /counters": {
    summary: "What the isolate that answers has counted since it began",
    roles: ROLES.platformRead,
    replies: [
      {
        status: 200,
        schema: CountersShown,
        about: "Whole numbers by name, refusals by the key of the error, and what there is now",
      },
    ],
  },
});
