// The entry that wrangler.toml names: the application of this repository, with its demo tenant. No logic.

import { demoPrompts, demoResources, demoTenant, demoTools } from "./demo/demo-tenant.ts";
import { admin, createWorker, gateway, login } from "./tenantry.ts";

const worker = createWorker({
  tools: demoTools,
  prompts: demoPrompts,
  resources: demoResources,
  tenants: { demo: demoTenant },
  defaultTenant: "demo",
  features: [admin(), gateway(), login()],
});

export const {
  ContentObject,
  DirectoryObject,
  HubObject,
  PlatformObject,
  SessionObject,
  StoredRuns,
  TenantObject,
  UpstreamRefreshes,
  UpstreamObject,
} = worker.exports;

export default worker;
