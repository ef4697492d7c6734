// The Worker of worker.ts plus an open `demo` tenant that anybody can write to. For a developer's machine only;
// wrangler.toml never deploys this file.

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
