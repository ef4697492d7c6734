// Endpoints for records of the past: audit, calls, errors, usage, metrics and explanations.

import * as z from "zod";
import {
  AuditRow,
  MetricsShape,
  Explanation,
  ErrorRow,
  CallAuditLine,
  Timestamp,
  Usage,
  UsageLineShape,
  WebhookTestResult,
  WebhooksShape,
  pageShapeOf,
} from "../contract.ts";
import {
  BooleanParam,
  PageQuery,
  IntegerParam,
  ROLES,
  TenantParams,
  defineEndpoints,
  linesReply,
} from "../endpoint.ts";
import { object, textUpTo } from "../schema-parts.ts";

export const AUDIT_ENDPOINTS = defineEndpoints({
  "GET /audit": {
    summary: "List the platform's audit log: operators, bases, blocked tools, deleted tenants",
    roles: ROLES.platformRead,
    query: object(PageQuery),
    replies: [{ status: 200, schema: pageShapeOf(AuditRow), about: "Entries, newest first" }],
  },
  "GET /tenants/{id}/audit": {
    summary: "List a tenant's audit log",
    roles: ROLES.tenantRead,
    params: TenantParams,
    query: object(PageQuery),
    replies: [{ status: 200, schema: pageShapeOf(AuditRow), about: "Entries, newest first" }],
  },
  "GET /tenants/{id}/usage": {
    summary: "Count a tenant's resources, keys and suspensions",
    roles: ROLES.tenantRead,
    params: TenantParams,
    replies: [{ status: 200, schema: Usage, about: "Counts, and the limits" }],
  },
});

const SequenceParam = IntegerParam(Number.MAX_SAFE_INTEGER);

export const CALL_AUDIT_ENDPOINTS = defineEndpoints({
  "GET /tenants/{id}/calls": {
    summary: "List a tenant's recorded calls, oldest first; each has a hash that includes the hash before it",
    roles: ROLES.tenantRead,
    params: TenantParams,
    query: object({}, { after: SequenceParam, last: SequenceParam }),
    replies: [linesReply(CallAuditLine, "The hash before the first call, the calls, and the newest known call")],
  },
});

export const USAGE_ENDPOINTS = defineEndpoints({
  "GET /tenants/{id}/usage/calls": {
    summary: "Count calls by hour or day; the counts of a closed period never change",
    roles: ROLES.tenantRead,
    params: TenantParams,
    query: object({}, { by: z.enum(["hour", "day"]), from: Timestamp, to: Timestamp, open: BooleanParam }),
    replies: [linesReply(UsageLineShape, "One JSON text per line, by time")],
  },
});

const ErrorQueryParams = object(PageQuery, { requestId: textUpTo(200, 1) });
const ERROR_REPLIES = [{ status: 200, schema: pageShapeOf(ErrorRow), about: "Errors, newest first" }];

export const ERROR_ENDPOINTS = defineEndpoints({
  "GET /errors": {
    summary: "List errors of all tenants; with requestId, those of the request whose client got this id",
    roles: ROLES.platformRead,
    query: ErrorQueryParams,
    replies: ERROR_REPLIES,
  },
  "GET /tenants/{id}/errors": {
    summary: "List the last errors of a tenant's requests",
    roles: ROLES.tenantRead,
    params: TenantParams,
    query: ErrorQueryParams,
    replies: ERROR_REPLIES,
  },
  "GET /metrics": {
    summary: "Show the counters of the answering isolate since its start",
    roles: ROLES.platformRead,
    replies: [
      {
        status: 200,
        schema: MetricsShape,
        about: "Counters by name, refusals by the key of the error, and gauges",
      },
    ],
  },
});

export const ExplainQuery = object(
  {
    kind: z.enum(["tools", "prompts", "resources"]),
    name: textUpTo(2048, 1).meta({ description: "The name in code or in the list; for resources, the URI." }),
  },
  {
    profile: textUpTo(40),
    key: textUpTo(40).meta({ description: "A key's id; without it, a caller without a key." }),
    user: textUpTo(4096, 1).meta({
      description: "A user of the app that mounts the Worker, as JSON in the form that `authenticate` returns.",
    }),
  },
);

export const EXPLAIN_ENDPOINTS = defineEndpoints({
  "GET /tenants/{id}/explain": {
    summary: "Explain why a caller sees a definition or not, in a profile, with a key or as a user",
    roles: ROLES.tenantRead,
    params: TenantParams,
    query: ExplainQuery,
    replies: [{ status: 200, schema: Explanation, about: "The decision, and the rules that took part" }],
  },
});

const WebhookParams = object({ ...TenantParams.shape, webhook: textUpTo(100, 1) });

export const WEBHOOK_ENDPOINTS = defineEndpoints({
  "GET /tenants/{id}/webhooks": {
    summary: "List a tenant's webhooks, and count their waiting messages",
    roles: ROLES.tenantRead,
    params: TenantParams,
    replies: [{ status: 200, schema: WebhooksShape, about: "Webhooks by name; no secrets" }],
  },
  "POST /tenants/{id}/webhooks/{webhook}/test": {
    summary: "Send a test message to a webhook, and show the result",
    roles: ROLES.tenant,
    params: WebhookParams,
    replies: [{ status: 200, schema: WebhookTestResult, about: "Whether the receiver accepted it" }],
  },
});
