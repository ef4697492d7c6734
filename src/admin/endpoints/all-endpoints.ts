// The one table of the admin API's routes: what each takes and answers. The server validates and describes itself by it; from its
// type comes the client's.

import { AUDIT_ENDPOINTS } from "./audit-endpoints.ts";
import { BASE_ENDPOINTS } from "./base-endpoints.ts";
import { BLOCK_ENDPOINTS } from "./block-endpoints.ts";
import { CALL_AUDIT_ENDPOINTS } from "./call-audit-endpoints.ts";
import { DOCUMENT_ENDPOINTS } from "./document-endpoints.ts";
import { EXPLAIN_ENDPOINTS } from "./explain-endpoints.ts";
import { EXPORT_ENDPOINTS } from "./export-endpoints.ts";
import { FAULT_ENDPOINTS } from "./fault-endpoints.ts";
import { GRANT_ENDPOINTS } from "./grant-endpoints.ts";
import { KEPT_ENDPOINTS } from "./kept-endpoints.ts";
import { KEY_ENDPOINTS } from "./key-endpoints.ts";
import { LIMIT_ENDPOINTS } from "./limit-endpoints.ts";
import { OPERATOR_ENDPOINTS } from "./operator-endpoints.ts";
import { RESOURCE_ENDPOINTS } from "./resource-endpoints.ts";
import { ROLLOUT_ENDPOINTS } from "./rollout-endpoints.ts";
import { SECRET_ENDPOINTS } from "./secret-endpoints.ts";
import { SUSPENSION_ENDPOINTS } from "./suspension-endpoints.ts";
import { TENANT_ENDPOINTS } from "./tenant-endpoints.ts";
import { UPSTREAM_REVIEW_ENDPOINTS } from "./upstream-review-endpoints.ts";
import { UPSTREAM_ENDPOINTS } from "./upstream-endpoints.ts";
import { USAGE_ENDPOINTS } from "./usage-endpoints.ts";
import { WEBHOOK_ENDPOINTS } from "./webhook-endpoints.ts";

export const ENDPOINTS = {
  ...TENANT_ENDPOINTS,
  ...DOCUMENT_ENDPOINTS,
  ...LIMIT_ENDPOINTS,
  ...UPSTREAM_ENDPOINTS,
  ...RESOURCE_ENDPOINTS,
  ...KEY_ENDPOINTS,
  ...KEPT_ENDPOINTS,
  ...GRANT_ENDPOINTS,
  ...SECRET_ENDPOINTS,
  ...SUSPENSION_ENDPOINTS,
  ...UPSTREAM_REVIEW_ENDPOINTS,
  ...EXPLAIN_ENDPOINTS,
  ...EXPORT_ENDPOINTS,
  ...AUDIT_ENDPOINTS,
  ...FAULT_ENDPOINTS,
  ...USAGE_ENDPOINTS,
  ...CALL_AUDIT_ENDPOINTS,
  ...WEBHOOK_ENDPOINTS,
  ...BASE_ENDPOINTS,
  ...ROLLOUT_ENDPOINTS,
  ...BLOCK_ENDPOINTS,
  ...OPERATOR_ENDPOINTS,
} as const;

export type Endpoints = typeof ENDPOINTS;
