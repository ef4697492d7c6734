// The entry that wrangler.toml names: all features, and no tenant until an operator makes one. While it is developed, requests to this
// machine are served by the Worker with the demo. A deployment has none of that: wrangler writes the mode in the place of NODE_ENV.
// oxlint-disable oxc/no-barrel-file

import { isLoopbackHost } from "./auth/origin.ts";
import { createDemo } from "./demo-worker.ts";
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
// Made after the other: what objects and alarms run is then found in the Worker with the demo.
const demo = process.env.NODE_ENV === "development" ? createDemo() : undefined;

export * from "./objects.ts";

export default {
  fetch: (request, env, ctx) => {
    const serving = demo && isLoopbackHost(new URL(request.url).hostname) ? demo : worker;
    return serving.fetch(request, env, ctx);
  },
} satisfies ExportedHandler<Env>;
