// `createWorker` and the features in Node. Options are validated as in a deployment, but the Worker cannot answer
// requests. Checks that belong to a feature do not run, because features are stubs here.

import { createTypedConfig } from "../handlers/typed-config.ts";
import type { NewResource } from "../handlers/resource-store.ts";
import { withErrorPrefix } from "../handlers/tool.ts";
import { checkDeployment, checkOptions } from "../deployment/check-deployment.ts";
import type { Deployment } from "../deployment/deployment.ts";
import { parseMountPath } from "../deployment/mount.ts";
import type { WorkerOptions } from "../app/create-worker.ts";
import { defineTenants, type TenantDefinitionOf } from "../tenants/document/tenant-definition.ts";

const NO_WORKERD =
  "a Worker runs only in workerd: start it with wrangler dev, or run its tools, prompts and resources with tenantry/testing";

/** A stub of a feature with routes. The routes array lets `checkDeployment` treat tenants as creatable later. */
export function createFeatureStub(name: string): () => { readonly name: string; readonly routes: readonly [] } {
  return () => ({ name, routes: [] });
}

/** Throws a TypeError for options that a deployment would reject. */
export function createWorkerStub(options: WorkerOptions = {}): {
  readonly fetch: () => Promise<never>;
  readonly tenant: () => never;
} {
  checkOptions(options as never);
  parseMountPath(options.path ?? "");
  checkDeployment(toDeployment(options));
  const tenant = () => {
    throw new TypeError(NO_WORKERD);
  };
  return { fetch: () => Promise.reject(new TypeError(NO_WORKERD)), tenant };
}

/** Contains only the members that `checkDeployment` reads. */
function toDeployment(options: WorkerOptions): Deployment {
  const { tools = [], prompts = [], resources = [], features = [], defaultTenant } = options;
  const { tenants = { demo: {} }, settings, limits, extensions } = options;
  const settingsConfig = settings && withErrorPrefix("settings", () => createTypedConfig(settings));
  const isFunction = typeof tenants === "function";
  const declared = isFunction ? {} : (tenants as Readonly<Record<string, TenantDefinitionOf<NewResource>>>);
  return {
    catalog: { tools, prompts, resources, limits, extensions, settings: settingsConfig },
    tenants: defineTenants(declared, tools),
    tenantResolver: isFunction ? tenants : undefined,
    features,
    defaultTenant,
  } as unknown as Deployment;
}
