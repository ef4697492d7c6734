// The Workers of this script: its Durable Objects and entrypoints find the author's definitions here. `createWorker`
// fills the registry while modules are evaluated. An alarm may be the first event of an isolate, so a Worker created in
// a handler is not found.

import type { Deployment, BuiltInFeature } from "./deployment.ts";

const REGISTRY = Symbol.for("tenantry.workers");

/**
 * Stored in globalThis, because the classes and the Worker may come from two copies of this module. Bound: the number
 * of Workers that a script mounts.
 */
function getWorkers(): Map<string, Deployment> {
  const shared = globalThis as { [REGISTRY]?: Map<string, Deployment> };
  return (shared[REGISTRY] ??= new Map());
}

/** Keyed by mount path. The last Worker of a path wins: a file that was saved is evaluated again. */
export function registerWorker(deployment: Deployment): void {
  getWorkers().set(deployment.path, deployment);
}

/** Throws if the script has no Worker at all. Returns undefined if no Worker has this path any more. */
export function getWorker(path: string): Deployment | undefined {
  if (getWorkers().size === 0) throw new Error(`no Worker was created: ${CREATE_WORKER_HINT}`);
  return getWorkers().get(path);
}

const CREATE_WORKER_HINT = "call createWorker() at the top level of the file that main names, not in a handler";

function getWorkersWith(name: string): readonly Deployment[] {
  return [...getWorkers().values()].filter(({ features }) => features.some((one) => one.name === name));
}

/** Whether a Worker of this script has the feature. */
export function hasFeature(name: string): boolean {
  return getWorkersWith(name).length > 0;
}

/**
 * Among mounted Workers with the feature: the one whose code declares the tenant, else the first. Throws if there is
 * none.
 */
export function requireFeature(
  name: string,
  tenant?: string,
): { readonly deployment: Deployment; readonly feature: BuiltInFeature } {
  const candidates = getWorkersWith(name);
  const deployment = candidates.find(({ tenants }) => tenant !== undefined && tenants.has(tenant)) ?? candidates[0];
  const feature = deployment?.features.find((one) => one.name === name);
  if (!deployment || !feature) throw new Error(`no Worker with ${name}() was created: ${CREATE_WORKER_HINT}`);
  return { deployment, feature };
}
