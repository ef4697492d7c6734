// What runs on a developer's machine: the Worker of worker.ts with an open tenant that anybody may write to. Never deployed by
// wrangler.toml. No logic.

import { demoPrompts, demoResources, demoTenant, demoTools } from "./demo/demo-tenant.ts";
import {
  admin,
  callAudit,
  connectPage,
  createWorker,
  gateway,
  login,
  telemetry,
  usage,
  webhooks,
  type TenantryWorker,
} from "./tenantry.ts";

export function createDemo(): TenantryWorker {
  return createWorker({
    tools: demoTools,
    prompts: demoPrompts,
    resources: demoResources,
    tenants: { demo: demoTenant },
    defaultTenant: "demo",
    features: [admin(), gateway(), login(), telemetry(), usage(), callAudit(), webhooks(), connectPage()],
  });
}
