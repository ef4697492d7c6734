// The one table of the admin API's routes: what each takes and answers. The server validates and describes itself by it; from its
// type comes the client's.

import { GRANT_ENDPOINTS, KEY_ENDPOINTS, OPERATOR_ENDPOINTS, SUSPENSION_ENDPOINTS } from "./access-endpoints.ts";
import {
  AUDIT_ENDPOINTS,
  CALL_AUDIT_ENDPOINTS,
  EXPLAIN_ENDPOINTS,
  ERROR_ENDPOINTS,
  USAGE_ENDPOINTS,
  WEBHOOK_ENDPOINTS,
} from "./record-endpoints.ts";
import { RESOURCE_ENDPOINTS } from "./resource-endpoints.ts";
import { BASE_ENDPOINTS, BLOCK_ENDPOINTS, ROLLOUT_ENDPOINTS } from "./rollout-endpoints.ts";
import {
  DOCUMENT_ENDPOINTS,
  EXPORT_ENDPOINTS,
  BACKUP_ENDPOINTS,
  LIMIT_ENDPOINTS,
  SECRET_ENDPOINTS,
  TENANT_ENDPOINTS,
} from "./tenant-endpoints.ts";
import { UPSTREAM_ENDPOINTS, UPSTREAM_REVIEW_ENDPOINTS } from "./upstream-endpoints.ts";

export const ENDPOINTS = {
  ...TENANT_ENDPOINTS,
  ...DOCUMENT_ENDPOINTS,
  ...LIMIT_ENDPOINTS,
  ...UPSTREAM_ENDPOINTS,
  ...RESOURCE_ENDPOINTS,
  ...KEY_ENDPOINTS,
  ...BACKUP_ENDPOINTS,
  ...GRANT_ENDPOINTS,
  ...SECRET_ENDPOINTS,
  ...SUSPENSION_ENDPOINTS,
  ...UPSTREAM_REVIEW_ENDPOINTS,
  ...EXPLAIN_ENDPOINTS,
  ...EXPORT_ENDPOINTS,
  ...AUDIT_ENDPOINTS,
  ...ERROR_ENDPOINTS,
  ...USAGE_ENDPOINTS,
  ...CALL_AUDIT_ENDPOINTS,
  ...WEBHOOK_ENDPOINTS,
  ...BASE_ENDPOINTS,
  ...ROLLOUT_ENDPOINTS,
  ...BLOCK_ENDPOINTS,
  ...OPERATOR_ENDPOINTS,
} as const;

export type Endpoints = typeof ENDPOINTS;
