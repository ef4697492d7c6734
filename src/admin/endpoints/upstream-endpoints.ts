// Endpoints of upstreams, and of the definitions that wait for approval.

import {
  Applied,
  Decide,
  Decided,
  Upstream,
  UpstreamRefreshed,
  UpstreamShape,
  UpstreamSummary,
  UpstreamTested,
  WaitingShape,
  pageShapeOf,
} from "../contract.ts";
import { Flag, PageQuery, ROLES, TenantParams, endpoints } from "../endpoint.ts";
import { object, textUpTo } from "../schema-parts.ts";

export const UpstreamParams = object({ ...TenantParams.shape, upstream: textUpTo(100, 1) });
export const WriteQuery = object({}, { dryRun: Flag, wait: Flag });
const APPLIED = { status: 200, schema: Applied, about: "What changed, or would" };

export const UPSTREAM_ENDPOINTS = endpoints({
  "GET /tenants/{id}/upstreams": {
    summary: "List a tenant's upstreams and how each is doing",
    roles: ROLES.tenantRead,
    params: TenantParams,
    query: object(PageQuery),
    replies: [{ status: 200, schema: pageShapeOf(UpstreamSummary), about: "Upstreams, by id" }],
  },
  "GET /tenants/{id}/upstreams/{upstream}": {
    summary: "Show an upstream: what it lists, what of it is left out and why",
    roles: ROLES.tenantRead,
    params: UpstreamParams,
    replies: [{ status: 200, schema: UpstreamShape, about: "The upstream, as it was last read" }],
  },
  "PUT /tenants/{id}/upstreams/{upstream}": {
    summary: "Write an upstream into the tenant's document; a tenant-admin within its upstreamBounds",
    roles: ROLES.tenant,
    params: UpstreamParams,
    query: WriteQuery,
    body: Upstream,
    conditions: ["If-Match"],
    replies: [APPLIED],
  },
  "DELETE /tenants/{id}/upstreams/{upstream}": {
    summary: "Take an upstream out of the tenant's own document",
    roles: ROLES.tenant,
    params: UpstreamParams,
    query: WriteQuery,
    conditions: ["If-Match"],
    replies: [APPLIED],
  },
  "POST /tenants/{id}/upstreams/{upstream}/test": {
    summary: "Connect to an upstream now and read what it lists; nothing of it is kept",
    roles: ROLES.tenant,
    params: UpstreamParams,
    replies: [{ status: 200, schema: UpstreamTested, about: "What was found, or why nothing was" }],
  },
  "POST /tenants/{id}/upstreams/{upstream}/refresh": {
    summary: "Read an upstream now, or wait for whoever is reading it",
    roles: ROLES.tenant,
    params: UpstreamParams,
    query: object({}, { wait: Flag }),
    replies: [{ status: 200, schema: UpstreamRefreshed, about: "It was read; or it could not be, and why" }],
  },
});

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
