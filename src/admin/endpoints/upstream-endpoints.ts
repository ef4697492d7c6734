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
const APPLY_REPLY = { status: 200, schema: ApplyResult, about: "What changed, or would change" };

export const UPSTREAM_ENDPOINTS = defineEndpoints({
  "GET /tenants/{id}/upstreams": {
    summary: "List a tenant's upstreams and their states",
    roles: ROLES.tenantRead,
    params: TenantParams,
    query: object(PageQuery),
    replies: [{ status: 200, schema: pageShapeOf(UpstreamSummary), about: "Upstreams, by id" }],
  },
  "GET /tenants/{id}/upstreams/{upstream}": {
    summary: "Show an upstream: its lists, the definitions that are left out, and why",
    roles: ROLES.tenantRead,
    params: UpstreamParams,
    replies: [{ status: 200, schema: UpstreamShape, about: "The upstream, as it was last read" }],
  },
  "PUT /tenants/{id}/upstreams/{upstream}": {
    summary: "Write an upstream into the tenant's document; upstreamBounds limits a tenant-admin",
    roles: ROLES.tenant,
    params: UpstreamParams,
    query: UpstreamWriteQuery,
    body: Upstream,
    conditions: ["If-Match"],
    replies: [APPLY_REPLY],
  },
  "DELETE /tenants/{id}/upstreams/{upstream}": {
    summary: "Remove an upstream from the tenant's own document",
    roles: ROLES.tenant,
    params: UpstreamParams,
    query: UpstreamWriteQuery,
    conditions: ["If-Match"],
    replies: [APPLY_REPLY],
  },
  "POST /tenants/{id}/upstreams/{upstream}/test": {
    summary: "Connect to an upstream now and read its lists; nothing is stored",
    roles: ROLES.tenant,
    params: UpstreamParams,
    replies: [{ status: 200, schema: UpstreamTestResult, about: "What was found, or why nothing was found" }],
  },
  "POST /tenants/{id}/upstreams/{upstream}/refresh": {
    summary: "Read an upstream now, or wait for the reading that runs",
    roles: ROLES.tenant,
    params: UpstreamParams,
    query: object({}, { wait: BooleanParam }),
    replies: [{ status: 200, schema: UpstreamRefreshResult, about: "Whether it was read, and if not, why" }],
  },
});

const DECISION_ENDPOINT = {
  roles: ROLES.tenant,
  params: UpstreamParams,
  query: object({}, { wait: BooleanParam }),
  body: ReviewDecision,
  replies: [{ status: 200, schema: ReviewResult, about: "Decided; in effect everywhere from effectiveAt on" }],
} as const;

export const UPSTREAM_REVIEW_ENDPOINTS = defineEndpoints({
  "GET /tenants/{id}/upstreams/{upstream}/pending": {
    summary: "List the definitions of an upstream that wait for approval, with their differences",
    roles: ROLES.tenantRead,
    params: UpstreamParams,
    query: object(PageQuery),
    replies: [{ status: 200, schema: pageShapeOf(PendingDefinitionShape), about: "As the upstream lists them" }],
  },
  "POST /tenants/{id}/upstreams/{upstream}/approve": {
    summary: "Approve definitions by digest, which are then listed",
    ...DECISION_ENDPOINT,
  },
  "POST /tenants/{id}/upstreams/{upstream}/reject": {
    summary: "Reject definitions by digest, which are then not listed",
    ...DECISION_ENDPOINT,
  },
});
