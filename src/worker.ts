// The entry that wrangler.toml names: the application of this repository, with its demo tenant. No logic.

import { demoPrompts, demoResources, demoTenant, demoTools } from "./demo/demo-tenant.ts";
import { createWorker } from "./tenantry.ts";

export { DirectoryObject, HubObject, PlatformObject, SessionObject, TenantObject } from "./tenantry.ts";

export default createWorker({
  tools: demoTools,
  prompts: demoPrompts,
  resources: demoResources,
  tenants: { demo: demoTenant },
  defaultTenant: "demo",
});
