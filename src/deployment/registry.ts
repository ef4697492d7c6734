// The Workers of this script, where its Durable Objects and entrypoints find what their author wrote. `createWorker` fills it while
// modules are evaluated; an alarm may be the first thing that an isolate runs, so a Worker that is made in a handler is not found.

import type { Deployment, BuiltInFeature } from "./deployment.ts";

const PLACE = Symbol.for("tenantry.workers");

/** In globalThis: the classes and the Worker may have come from two copies of this module. Bound: as many as a script mounts. */
function workers(): Map<string, Deployment> {
  const shared = globalThis as { [PLACE]?: Map<string, Deployment> };
  return (shared[PLACE] ??= new Map());
}

/** By the path under which it is mounted. The last one of a path is kept: a file that was saved is evaluated again. */
export function registerWorker(deployment: Deployment): void {
  workers().set(deployment.path, deployment);
}

/** Throws where the script has no Worker at all; undefined: it has none under this path any more. */
export function workerAt(path: string): Deployment | undefined {
  if (workers().size === 0) throw new Error(`no Worker was made: ${WHERE}`);
  return workers().get(path);
}

const WHERE = "call createWorker() while the file that wrangler's main names is evaluated, not in a handler";

function withFeature(name: string): readonly Deployment[] {
  return [...workers().values()].filter(({ features }) => features.some((one) => one.name === name));
}

/** Whether a Worker of this script has the feature. */
export function hasFeature(name: string): boolean {
  return withFeature(name).length > 0;
}

/** Of several mounted Workers that have the feature, the one whose code declares the tenant, else the first. Throws where none has it. */
export function registered(
  name: string,
  tenant?: string,
): { readonly deployment: Deployment; readonly feature: BuiltInFeature } {
  const having = withFeature(name);
  const deployment = having.find(({ tenants }) => tenant !== undefined && tenants.has(tenant)) ?? having[0];
  const feature = deployment?.features.find((one) => one.name === name);
  if (!deployment || !feature) throw new Error(`no Worker with ${name}() was made: ${WHERE}`);
  return { deployment, feature };
}
