// Routes of the admin API: upstream review.

import { Decide, Decided, WaitingShape, pageShapeOf } from "../contract.ts";
import { Flag, PageQuery, ROLES, endpoints } from "../endpoint.ts";
import { object } from "../schema-parts.ts";
import { UpstreamParams } from "./upstream-endpoints.ts";

const DECISION = {
  roles: ROLES.tenant,
  params: UpstreamParams,
  query: object({}, { wait: Flag }),
  body: Decide,
  replies: [{ status: 200, schema: Decided, about: "Decided; seen everywhere from effectiveAt on" }],
} as const;

export const UPSTREAM_REVIEW_ENDPOINTS = endpoints({
  "GET /tenants/{id}/upstreams/{upstream}/pending": {
    summary: "List the definitions of an upstream that wait for approval, with all in which they differ",
    roles: ROLES.tenantRead,
    params: UpstreamParams,
    query: object(PageQuery),
    replies: [{ status: 200, schema: pageShapeOf(WaitingShape), about: "As the upstream lists them" }],
  },
  "POST /tenants/{id}/upstreams/{upstream}/approve": {
    summary: "Approve definitions: what was seen under these digests is listed from now on",
    ...DECISION,
  },
  "POST /tenants/{id}/upstreams/{upstream}/reject": {
    summary: "Reject definitions: they wait no more, and are not listed",
    ...DECISION,
  },
});
