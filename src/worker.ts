// The entry that wrangler.toml names: all features, and no tenant until an operator makes one. No logic.

import { admin, createWorker, gateway, login } from "./tenantry.ts";

const worker = createWorker({ tenants: {}, features: [admin(), gateway(), login()] });

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
