// Owns the entrypoint by which objects have work done in an invocation of its own: a session's a stored call, a feature's what its
// alarm begins. A Worker exports it as `StoredRuns`; only a binding of the same Worker can reach it, so nobody outside
// starts anything. Also owns what the platform says of the Worker before there is a request.

import { env, waitUntil, WorkerEntrypoint } from "cloudflare:workers";
import type { Bindings, Deployment, Feature } from "../deployment/deployment.ts";
import type { RunOrder, StoredRunsBinding } from "../sessions/session-object.ts";
import { runStored } from "./era-2025/stored-run.ts";
import type { Env } from "./visit.ts";

export type StoredRunsClass = new (ctx: ExecutionContext, env: Env) => WorkerEntrypoint<Env> & StoredRunsBinding;

/**
 * By the path under which each is mounted: a script may mount several, and exports the classes of one of them.
 * Bound: as many as a script mounts.
 */
const mounted = new Map<string, Deployment>();

const madeOf = new WeakMap<Feature, Deployment>();

/** One for all deployments of this script, whichever of them it is exported from. `own`: absent where it is of no one. */
export function createStoredRuns(own?: Deployment): StoredRunsClass {
  if (own) mounted.set(own.path, own);
  for (const feature of own?.features ?? []) madeOf.set(feature, own as Deployment);
  const deploymentAt = (mount: string) => (own && mount === own.path ? own : mounted.get(mount));
  return class StoredRuns extends WorkerEntrypoint<Env> {
    async run(order: RunOrder): Promise<string | undefined> {
      const request = new Request("https://tenantry.internal/run");
      const running = runStored(deploymentAt, { request, env: this.env, ctx: this.ctx }, order);
      // The object that started the run may be reset meanwhile. The run goes on, and the object's next instance has its
      // socket.
      this.ctx.waitUntil(running);
      return running;
    }

    async background(order: unknown): Promise<void> {
      const at = [...mounted.values()].find(({ features }) => features.some(({ background }) => background));
      const working = at?.features.find(({ background }) => background)?.background?.(at, this.env as never, order);
      this.ctx.waitUntil(Promise.resolve(working));
      await working;
    }
  };
}

/** The deployment of this script that has the feature; features are values, and each is of those that were given it. */
export function deploymentWith(feature: Feature): Deployment {
  const found = madeOf.get(feature);
  if (!found) throw new TypeError(`no Worker of this script has this ${feature.name}()`);
  return found;
}

/** What is under way in whichever event of the Worker this runs in, whether or not its code handed a context on. */
export const CURRENT_EVENT: { waitUntil(work: Promise<unknown>): void } = { waitUntil };

/** What the Worker is bound to, before there is a request. */
export function startBindings(): Bindings {
  return env as unknown as Bindings;
}
