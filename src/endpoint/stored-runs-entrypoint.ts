// The entrypoint by which Durable Objects run work in an invocation of its own: a session object a stored call, the
// platform object a step of a rollout. Only the same Worker can call it, so nobody outside can start such work. Also
// gives access to the Worker's bindings outside a request.

import { env, waitUntil, WorkerEntrypoint } from "cloudflare:workers";
import type { UntypedEnv } from "../deployment/deployment.ts";
import { requireFeature, getWorker } from "../deployment/registry.ts";
import type { ResumeRequest, StoredRunsBinding } from "../sessions/session-object.ts";
import { resumeCall } from "./era-2025/resume-call.ts";
import type { Env } from "./request-context.ts";

/** Entrypoint that only the Worker itself calls: runs a stored call again. */
export class StoredRuns extends WorkerEntrypoint<Env> implements StoredRunsBinding {
  async run(order: ResumeRequest): Promise<string | undefined> {
    const request = new Request("https://tenantry.internal/run");
    const resuming = resumeCall(getWorker, { request, env: this.env, ctx: this.ctx }, order);
    // The session object may be reset meanwhile. The run continues, and the object's next instance takes over its
    // socket.
    this.ctx.waitUntil(resuming);
    return resuming;
  }

  async background(order: unknown): Promise<void> {
    const { deployment, feature } = requireFeature("admin");
    const working = feature.background?.(deployment, this.env as never, order);
    this.ctx.waitUntil(Promise.resolve(working));
    await working;
  }
}

/** The current event of the Worker, for code that was not passed a context. */
export const CURRENT_EVENT: { waitUntil(work: Promise<unknown>): void } = { waitUntil };

/** The Worker's bindings, available before the first request. */
export function getBindings(): UntypedEnv {
  return env as unknown as UntypedEnv;
}
