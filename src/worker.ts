// The entry that wrangler.toml names: all features, and no tenant until an operator makes one. While it is developed, requests to this
// machine are served by the Worker with the demo. A deployment has none of that: wrangler writes the mode in the place of NODE_ENV.

import { isLoopbackHost } from "./auth/origin.ts";
import demo from "./demo-worker.ts";
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
  type Env,
} from "./tenantry.ts";

declare const process: { readonly env: { readonly NODE_ENV?: string } };

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
} = process.env.NODE_ENV === "development" ? demo.exports : worker.exports;

export default {
  fetch: (request, env, ctx) => {
    if (process.env.NODE_ENV === "development" && isLoopbackHost(new URL(request.url).hostname)) {
      return demo.fetch(request, env, ctx);
    }
    return worker.fetch(request, env, ctx);
  },
} satisfies ExportedHandler<Env>;
