// The entry that wrangler.toml names: all features, and no tenants until an operator creates one. In development, the
// demo Worker serves requests to this machine. A deployment has no demo: wrangler replaces NODE_ENV with the mode.
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
// Created last, so that objects and alarms find the demo's Worker in the registry.
const demo = process.env.NODE_ENV === "development" ? createDemo() : undefined;

export * from "./objects.ts";

export default {
  fetch: (request, env, ctx) => {
    const serving = demo && isLoopbackHost(new URL(request.url).hostname) ? demo : worker;
    return serving.fetch(request, env, ctx);
  },
} satisfies ExportedHandler<Env>;
