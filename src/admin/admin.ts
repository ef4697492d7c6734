// Owns the admin API as a feature: a Worker without it has the tenants that its code declares, and nobody who changes
// them.

import { exposedBy } from "../auth/origin.ts";
import { originAllowed } from "../auth/origin.ts";
import type { BuiltInFeature, Deployment } from "../deployment/deployment.ts";
import type { Feature } from "../deployment/feature.ts";
import { registered } from "../deployment/registry.ts";
import { refuseOptions } from "../protocol/members.ts";
import { noteMet } from "../limits/note-met.ts";
import { baseStep } from "./apply/base-step.ts";
import type { createAdmin } from "./create-admin.ts";
import type { AdminEnv, AdminOptions } from "./route.ts";

/** The admin API at `/admin/v1`. */
export function admin(...options: readonly never[]): Feature {
  refuseOptions("admin", options);
  const feature: BuiltInFeature = {
    name: "admin",
    // It makes the keys that tenants take.
    exposed: exposedBy,
    routes: { path: "/admin/*", open },
    limitMet: noteMet,
    background: (_deployment, env, order) =>
      baseStep((tenant) => optionsOf(registered("admin", tenant).deployment), env, order),
  };
  return feature;
}

function optionsOf({ catalog, tenants, asked, hooks, path, features }: Deployment): AdminOptions {
  return {
    catalog,
    tenants,
    asked,
    path,
    features,
    originAllowed,
    onError: (error, place) => {
      hooks.onError?.(error, undefined, place);
    },
  };
}

function open(deployment: Deployment) {
  let app: ReturnType<typeof createAdmin> | undefined;
  const answer = async (request: Request, env: unknown): Promise<Response> => {
    // Evaluated at the first request, not when the Worker starts: it makes every schema of the contract.
    const module = await import("./create-admin.ts");
    app ??= module.createAdmin(optionsOf(deployment));
    return app.fetch(request, env as AdminEnv);
  };
  return (request: Request, env: unknown, ctx: Pick<ExecutionContext, "waitUntil">) => {
    const answered = answer(request, env);
    // A write of several steps goes on to its end though whoever sent it has gone.
    if (request.method !== "GET") ctx.waitUntil(answered);
    return answered;
  };
}
