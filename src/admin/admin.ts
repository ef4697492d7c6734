// Owns the admin API as a feature: a Worker without it has the tenants that its code declares, and nobody who changes
// them.

import { insecureTransportError } from "../auth/origin.ts";
import { isOriginAllowed } from "../auth/origin.ts";
import type { BuiltInFeature, Deployment } from "../deployment/deployment.ts";
import type { Feature } from "../deployment/feature.ts";
import { requireFeature } from "../deployment/registry.ts";
import { assertNoOptions } from "../protocol/members.ts";
import { recordExceededLimit } from "../limits/record-exceeded-limit.ts";
import { runBaseRolloutStep } from "./services/base-rollout-step.ts";
import type { createAdmin } from "./create-admin.ts";
import type { AdminEnv, AdminOptions } from "./route.ts";

/** The admin API at `/admin/v1`. */
export function admin(...options: readonly never[]): Feature {
  assertNoOptions("admin", options);
  const feature: BuiltInFeature = {
    name: "admin",
    // It makes the keys that tenants take.
    transportError: insecureTransportError,
    routes: { path: "/admin/*", open },
    onLimitExceeded: recordExceededLimit,
    background: (_deployment, env, order) =>
      runBaseRolloutStep((tenant) => optionsOf(requireFeature("admin", tenant).deployment), env, order),
  };
  return feature;
}

function optionsOf({ catalog, tenants, tenantResolver: asked, hooks, path, features }: Deployment): AdminOptions {
  return {
    catalog,
    tenants,
    tenantResolver: asked,
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
    // Evaluated at the first request, not when the Worker starts: it makes every schema of the contract.
    const module = await import("./create-admin.ts");
    app ??= module.createAdmin(optionsOf(deployment));
    return app.fetch(request, env as AdminEnv);
  };
  return (request: Request, env: unknown, ctx: Pick<ExecutionContext, "waitUntil">) => {
    const response = handleRequest(request, env);
    // A write of several steps goes on to its end though whoever sent it has gone.
    if (request.method !== "GET") ctx.waitUntil(response);
    return response;
  };
}
