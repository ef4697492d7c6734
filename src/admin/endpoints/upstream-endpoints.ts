// Endpoints for upstreams, and for definitions that wait for approval.

import {
  ApplyResult,
  ReviewDecision,
  ReviewResult,
  Upstream,
  UpstreamRefreshResult,
  UpstreamShape,
  UpstreamSummary,
  UpstreamTestResult,
  PendingDefinitionShape,
  pageShapeOf,
} from "../contract.ts";
import { BooleanParam, PageQuery, ROLES, TenantParams, defineEndpoints } from "../endpoint.ts";
import { object, textUpTo } from "../schema-parts.ts";

export const UpstreamParams = object({ ...TenantParams.shape, upstream: textUpTo(100, 1) });
export const UpstreamWriteQuery = object({}, { dryRun: BooleanParam, wait: BooleanParam });
const APPLY_REPLY = { status: 200, schema: ApplyResult, about: "What changed, or would" };

export const UPSTREAM_ENDPOINTS = defineEndpoints({
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
    query: UpstreamWriteQuery,
    body: Upstream,
    conditions: ["If-Match"],
    replies: [APPLY_REPLY],
  },
  "DELETE /tenants/{id}/upstreams/{upstream}": {
    summary: "Take an upstream out of the tenant's own document",
    roles: ROLES.tenant,
    params: UpstreamParams,
    query: UpstreamWriteQuery,
    conditions: ["If-Match"],
    replies: [APPLY_REPLY],
  },
  "POST /tenants/{id}/upstreams/{upstream}/test": {
    summary: "Connect to an upstream now and read what it lists; nothing of it is kept",
    roles: ROLES.tenant,
    params: UpstreamParams,
    replies: [{ status: 200, schema: UpstreamTestResult, about: "What was found, or why nothing was" }],
  },
  "POST /tenants/{id}/upstreams/{upstream}/refresh": {
    summary: "Read an upstream now, or wait for whoever is reading it",
    roles: ROLES.tenant,
    params: UpstreamParams,
    query: object({}, { wait: BooleanParam }),
    replies: [{ status: 200, schema: UpstreamRefreshResult, about: "It was read; or it could not be, and why" }],
  },
});

const DECISION_ENDPOINT = {
  roles: ROLES.tenant,
  params: UpstreamParams,
  query: object({}, { wait: BooleanParam }),
  body: ReviewDecision,
  replies: [{ status: 200, schema: ReviewResult, about: "Decided; seen everywhere from effectiveAt on" }],
} as const;

export const UPSTREAM_REVIEW_ENDPOINTS = defineEndpoints({
  "GET /tenants/{id}/upstreams/{upstream}/pending": {
    summary: "List the definitions of an upstream that wait for approval, with all in which they differ",
    roles: ROLES.tenantRead,
    params: UpstreamParams,
    query: object(PageQuery),
    replies: [{ status: 200, schema: pageShapeOf(PendingDefinitionShape), about: "As the upstream lists them" }],
  },
  "POST /tenants/{id}/upstreams/{upstream}/approve": {
    summary: "Approve definitions: what was seen under these digests is listed from now on",
    ...DECISION_ENDPOINT,
  },
  "POST /tenants/{id}/upstreams/{upstream}/reject": {
    summary: "Reject definitions: they wait no more, and are not listed",
    ...DECISION_ENDPOINT,
  },
});
