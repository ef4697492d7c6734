// The entry that wrangler.toml names: all features, and no tenant until an operator makes one. No logic.

import { admin, callAudit, connectPage, createWorker, gateway, login, telemetry, usage, webhooks } from "./tenantry.ts";

const worker = createWorker({
  tenants: {},
  features: [admin(), gateway(), login(), telemetry(), usage(), callAudit(), webhooks(), connectPage()],
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
  WebhookDeliveries,
} = worker.exports;

export default worker;
