// Owns the list of every route of the admin API: what is not here cannot be called, and is in no description.

import { auditRoutes } from "./audit.ts";
import { baseRoutes } from "./bases.ts";
import { blockRoutes } from "./blocks.ts";
import { documentRoutes } from "./documents.ts";
import { explainRoutes } from "./explain.ts";
import { exportRoutes } from "./export.ts";
import { fleetRoutes } from "./fleet.ts";
import { keyRoutes } from "./keys.ts";
import { operatorRoutes } from "./operators.ts";
import { resourceRoutes } from "./resources.ts";
import type { Route } from "./route.ts";
import { secretRoutes } from "./secrets.ts";
import { suspensionRoutes } from "./suspensions.ts";
import { tenantRoutes } from "./tenants.ts";

export const ROUTES: readonly Route[] = [
  ...tenantRoutes,
  ...documentRoutes,
  ...resourceRoutes,
  ...keyRoutes,
  ...secretRoutes,
  ...suspensionRoutes,
  ...explainRoutes,
  ...exportRoutes,
  ...auditRoutes,
  ...baseRoutes,
  ...fleetRoutes,
  ...blockRoutes,
  ...operatorRoutes,
];
