import { auditRoutes } from "./audit-routes.ts";
import { baseRoutes } from "./base-routes.ts";
import { blockRoutes } from "./block-routes.ts";
import { callAuditRoutes } from "./call-audit-routes.ts";
import { documentRoutes } from "./document-routes.ts";
import { explainRoutes } from "./explain-routes.ts";
import { backupRoutes, exportRoutes } from "./export-routes.ts";
import { errorRoutes } from "./error-routes.ts";
import { grantRoutes } from "./grant-routes.ts";
import { keyRoutes } from "./key-routes.ts";
import { limitRoutes } from "./limit-routes.ts";
import { operatorRoutes } from "./operator-routes.ts";
import { resourceRoutes } from "./resource-routes.ts";
import type { Route } from "../route.ts";
import { secretRoutes } from "./secret-routes.ts";
import { suspensionRoutes } from "./suspension-routes.ts";
import { tenantRoutes } from "./tenant-routes.ts";
import { upstreamRoutes } from "./upstream-routes.ts";
import { usageRoutes } from "./usage-routes.ts";
import { upstreamReviewRoutes } from "./upstream-review-routes.ts";
import { webhookRoutes } from "./webhook-routes.ts";
import { rolloutRoutes } from "./rollout-routes.ts";

export const ROUTES: readonly Route[] = [
  ...tenantRoutes,
  ...documentRoutes,
  ...limitRoutes,
  ...upstreamRoutes,
  ...resourceRoutes,
  ...keyRoutes,
  ...backupRoutes,
  ...grantRoutes,
  ...secretRoutes,
  ...suspensionRoutes,
  ...upstreamReviewRoutes,
  ...explainRoutes,
  ...exportRoutes,
  ...auditRoutes,
  ...errorRoutes,
  ...usageRoutes,
  ...callAuditRoutes,
  ...webhookRoutes,
  ...baseRoutes,
  ...rolloutRoutes,
  ...blockRoutes,
  ...operatorRoutes,
];
