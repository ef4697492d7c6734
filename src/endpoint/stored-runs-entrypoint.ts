// The entrypoint by which objects have work done in an invocation of its own: a session's a stored call, the platform's a step of a
// rollout. Only the same Worker reaches it, so nobody outside starts anything. Also what the platform says of the Worker before
// there is a request.

import { env, waitUntil, WorkerEntrypoint } from "cloudflare:workers";
import type { Bindings } from "../deployment/deployment.ts";
import { requireFeature, getWorker } from "../deployment/registry.ts";
import type { ResumeRequest, StoredRunsBinding } from "../sessions/session-object.ts";
import { resumeCall } from "./era-2025/resume-call.ts";
import type { Env } from "./request-context.ts";

export class StoredRuns extends WorkerEntrypoint<Env> implements StoredRunsBinding {
  async run(order: ResumeRequest): Promise<string | undefined> {
    const request = new Request("https://tenantry.internal/run");
    const resuming = resumeCall(getWorker, { request, env: this.env, ctx: this.ctx }, order);
    // The object that started the run may be reset meanwhile. The run goes on, and the object's next instance has its
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

/** What is under way in whichever event of the Worker this runs in, whether or not its code handed a context on. */
export const CURRENT_EVENT: { waitUntil(work: Promise<unknown>): void } = { waitUntil };

/** What the Worker is bound to, before there is a request. */
export function getBindings(): Bindings {
  return env as unknown as Bindings;
}
