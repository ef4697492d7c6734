// Endpoints for records of the past: audit, calls, errors, usage, metrics and explanations.

import * as z from "zod";
import {
  AuditRow,
  MetricsShape,
  Explanation,
  ErrorRow,
  RecordedLine,
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
    summary: "The platform's audit log: operators, bases, blocked tools, deleted tenants",
    roles: ROLES.platformRead,
    query: object(PageQuery),
    replies: [{ status: 200, schema: pageShapeOf(AuditRow), about: "Entries, newest first" }],
  },
  "GET /tenants/{id}/audit": {
    summary: "A tenant's audit log",
    roles: ROLES.tenantRead,
    params: TenantParams,
    query: object(PageQuery),
    replies: [{ status: 200, schema: pageShapeOf(AuditRow), about: "Entries, newest first" }],
  },
  "GET /tenants/{id}/usage": {
    summary: "How much a tenant has",
    roles: ROLES.tenantRead,
    params: TenantParams,
    replies: [{ status: 200, schema: Usage, about: "Counts, and the limits that hold" }],
  },
});

const SequenceParam = IntegerParam(Number.MAX_SAFE_INTEGER);

export const CALL_AUDIT_ENDPOINTS = defineEndpoints({
  "GET /tenants/{id}/calls": {
    summary: "The recorded calls of a tenant, oldest first, each with the hash that hangs on the one before",
    roles: ROLES.tenantRead,
    params: TenantParams,
    query: object({}, { after: SequenceParam, last: SequenceParam }),
    replies: [linesReply(RecordedLine, "What the first one hangs on, the calls, and the newest as it is known")],
  },
});

export const USAGE_ENDPOINTS = defineEndpoints({
  "GET /tenants/{id}/usage/calls": {
    summary: "What a tenant's callers called, by hour or day; what is closed is given out the same again",
    roles: ROLES.tenantRead,
    params: TenantParams,
    query: object({}, { by: z.enum(["hour", "day"]), from: Timestamp, to: Timestamp, open: BooleanParam }),
    replies: [linesReply(UsageLineShape, "One JSON text a line, by time")],
  },
});

const ErrorQueryParams = object(PageQuery, { requestId: textUpTo(200, 1) });
const ERROR_REPLIES = [{ status: 200, schema: pageShapeOf(ErrorRow), about: "Errors, newest first" }];

export const ERROR_ENDPOINTS = defineEndpoints({
  "GET /errors": {
    summary: "Errors of all tenants; with requestId, those of the request whose client was told it",
    roles: ROLES.platformRead,
    query: ErrorQueryParams,
    replies: ERROR_REPLIES,
  },
  "GET /tenants/{id}/errors": {
    summary: "The last errors of a tenant's requests",
    roles: ROLES.tenantRead,
    params: TenantParams,
    query: ErrorQueryParams,
    replies: ERROR_REPLIES,
  },
  "GET /metrics": {
    summary: "What the isolate that answers has counted since it began",
    roles: ROLES.platformRead,
    replies: [
      {
        status: 200,
        schema: MetricsShape,
        about: "Whole numbers by name, refusals by the key of the error, and what there is now",
      },
    ],
  },
});

export const ExplainQuery = object(
  {
    kind: z.enum(["tools", "prompts", "resources"]),
    name: textUpTo(2048, 1).meta({ description: "In code or as it is listed; a URI for resources." }),
  },
  {
    profile: textUpTo(40),
    key: textUpTo(40).meta({ description: "A key's id; nobody in particular when absent." }),
    user: textUpTo(4096, 1).meta({
      description: "A user of the app that mounts the Worker: JSON, as its `authenticate` says it.",
    }),
  },
);

export const EXPLAIN_ENDPOINTS = defineEndpoints({
  "GET /tenants/{id}/explain": {
    summary: "Why is this visible or not, in this profile, and with this key or for this user?",
    roles: ROLES.tenantRead,
    params: TenantParams,
    query: ExplainQuery,
    replies: [{ status: 200, schema: Explanation, about: "The verdict, and each rule that had a say" }],
  },
});

const WebhookParams = object({ ...TenantParams.shape, webhook: textUpTo(100, 1) });

export const WEBHOOK_ENDPOINTS = defineEndpoints({
  "GET /tenants/{id}/webhooks": {
    summary: "A tenant's webhooks, and how much waits for them",
    roles: ROLES.tenantRead,
    params: TenantParams,
    replies: [{ status: 200, schema: WebhooksShape, about: "Webhooks by name; no secrets" }],
  },
  "POST /tenants/{id}/webhooks/{webhook}/test": {
    summary: "Send a webhook a message that says nothing, and say what became of it",
    roles: ROLES.tenant,
    params: WebhookParams,
    replies: [{ status: 200, schema: WebhookTestResult, about: "Whether it took it" }],
  },
});
