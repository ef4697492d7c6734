// The admin API as a feature. A Worker without it has only the tenants that its code declares, and no way to change
// them.

import { insecureTransportError, isOriginAllowed } from "../auth/origin.ts";
import type { BuiltInFeature, Deployment } from "../deployment/deployment.ts";
import type { Feature } from "../deployment/feature.ts";
import { requireFeature } from "../deployment/registry.ts";
import { assertNoOptions } from "../protocol/members.ts";
import { recordExceededLimit } from "../limits/record-exceeded-limit.ts";
import { runBaseRolloutStep } from "./services/base-rollout-step.ts";
import type { createAdmin } from "./create-admin.ts";
import type { AdminEnv, AdminOptions } from "./route.ts";

/**
 * Adds the admin API at `/admin/v1`, which creates tenants, keys, secrets and resources; `npx tenantry` calls it:
 * `npx tenantry key create acme --name laptop` prints a key of the tenant `acme`. The first owner authenticates with the
 * Worker secret `ADMIN_TOKEN`, 32 characters or more: in `.dev.vars` for `wrangler dev`, by
 * `npx wrangler secret put ADMIN_TOKEN` for a deployment. Takes no options.
 */
export function admin(...options: readonly never[]): Feature {
  assertNoOptions("admin", options);
  const feature: BuiltInFeature = {
    name: "admin",
    // The admin API creates tenant keys, so tenant endpoints must refuse them over plain HTTP.
    transportError: insecureTransportError,
    routes: { path: "/admin/*", open },
    onLimitExceeded: recordExceededLimit,
    background: (_deployment, env, order) =>
      runBaseRolloutStep((tenant) => optionsOf(requireFeature("admin", tenant).deployment), env, order),
  };
  return feature;
}

function optionsOf({ catalog, tenants, tenantResolver, hooks, path, features }: Deployment): AdminOptions {
  return {
    catalog,
    tenants,
    tenantResolver,
    path,
    features,
    originAllowed: isOriginAllowed,
    onError: (error, place) => {
      hooks.onError?.(error, undefined, place);
    },
  };
}

function open(deployment: Deployment) {
  let app: ReturnType<typeof createAdmin> | undefined;
  const handleRequest = async (request: Request, env: unknown): Promise<Response> => {
    // Loaded at the first request, not when the Worker starts: the module builds every schema of the contract.
    const module = await import("./create-admin.ts");
    app ??= module.createAdmin(optionsOf(deployment));
    return app.fetch(request, env as AdminEnv);
  };
  return (request: Request, env: unknown, ctx: Pick<ExecutionContext, "waitUntil">) => {
    const response = handleRequest(request, env);
    // A write of several steps runs to its end even if the client disconnects.
    if (request.method !== "GET") ctx.waitUntil(response);
    return response;
  };
}
