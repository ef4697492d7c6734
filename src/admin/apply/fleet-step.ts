// Owns one step of a fleet run, in one invocation: so many tenants in waves, each with its outcome written down before the next
// wave. The platform's object begins the next step, and this one anew where it was cut off: a tenant may be applied twice.

import type { Bindings } from "../../deployment/deployment.ts";
import { remote } from "../../tenants/authority/tables.ts";
import type { RunRecord, RunResult, WaitingTenant } from "../platform/fleet-records.ts";
import { fleetTables } from "../platform/fleet-tables.ts";
import { platformOf } from "../platform/platform-door.ts";
import { ProblemError } from "../problem.ts";
import type { AdminEnv, AdminOptions, Desk } from "../route.ts";
import { applyDocument } from "./apply-document.ts";
import { inLanes } from "./lanes.ts";
import { findManaged, type Managed } from "./tenant-access.ts";

/** How long a tenant is waited for that is just being made, or is just taking the base: its own object has the last word. */
const WAITED_MS = 3000;
const LOOK_AGAIN_MS = 100;

export const runName = (id: number) => `run-${id}`;
export const fleetOf = (env: object) => remote(platformOf(env), fleetTables);

/** In an invocation that the platform's object began. */
export async function fleetStep(options: AdminOptions, env: Bindings, order: unknown): Promise<void> {
  const { fleet } = order as { readonly fleet: number };
  const place = { env: env as unknown as AdminEnv, options };
  const run = await fleetOf(place.env).run(fleet);
  if (!run) return;
  const request = new Request("https://tenantry.internal/admin/v1/fleet");
  await takeFleetStep({ ...place, request, caller: { name: run.actor, role: "operator", tenants: null } }, run);
}

/** Gives the run as it stands after it. One that is stopped meanwhile gets no further than this wave. */
export async function takeFleetStep(desk: Desk, begun: RunRecord): Promise<RunRecord> {
  const fleet = fleetOf(desk.env);
  let run = begun;
  for (let tenants = 0; run.state === "running"; tenants += run.wave) {
    if (tenants >= run.step) {
      await fleet.handOver(run.id);
      break;
    }
    const wave = await fleet.wave(run.id);
    const outcomes = await inLanes(wave, (waiting) => applyTo(desk, run, waiting));
    const effectiveAt = Math.max(0, ...outcomes.map((outcome) => outcome.effectiveAt));
    run = await fleet.report(
      run.id,
      outcomes.map(({ result }) => result),
      effectiveAt === 0 ? null : effectiveAt - Date.now(),
    );
  }
  return run;
}

interface TenantOutcome {
  readonly result: RunResult;
  readonly effectiveAt: number;
}

/** Never rejects: what fails becomes the tenant's outcome. */
async function applyTo(desk: Desk, run: RunRecord, waiting: WaitingTenant): Promise<TenantOutcome> {
  const { id, base, document, dryRun } = run;
  const { tenant } = waiting;
  try {
    const managed = await findManaged(desk, tenant);
    if (!(await comesToExtend(managed, base, waiting))) return nothing(tenant);
    const { changes, effectiveAt } = await applyDocument(desk, managed, {
      edit: (now) => now,
      ifMatch: null,
      dryRun,
      wait: "never",
      action: `fleet ${runName(id)}`,
      ...(dryRun ? { supposing: { base, document } } : {}),
    });
    return { result: { tenant, state: "done", changes }, effectiveAt: effectiveAt ?? 0 };
  } catch (error) {
    // Deleted meanwhile: there is nothing to do.
    if (error instanceof ProblemError && error.key === "not-found") return nothing(tenant);
    return { result: { tenant, state: "failed", ...reasonOf(desk, error) }, effectiveAt: 0 };
  }
}

/**
 * Whether the tenant extends the base, also where what makes it do so is under way: that read the base before this run wrote it,
 * and may be written after this step has looked. A write that was noted and never came is waited for in vain, for a while.
 */
async function comesToExtend(managed: Managed, base: string, { uses }: WaitingTenant): Promise<boolean> {
  const until = Date.now() + WAITED_MS;
  const basis = Math.max(-1, ...uses.filter(({ created }) => created === managed.created).map((use) => use.basis));
  for (;;) {
    const record = await managed.policy.read(managed.entry === null);
    if (record?.own.extends?.includes(base)) return true;
    // What is based on an older revision is refused.
    if ((record ? basis < record.revision : basis < 0) || Date.now() >= until) return false;
    await scheduler.wait(LOOK_AGAIN_MS);
  }
}

function nothing(tenant: string): TenantOutcome {
  return { result: { tenant, state: "done", changes: [] }, effectiveAt: 0 };
}

function reasonOf({ options }: Desk, error: unknown): Pick<RunResult & { state: "failed" }, "error" | "errors"> {
  if (!(error instanceof ProblemError)) {
    options.onError?.(error);
    return { error: "failed here; the reason is in the Worker's logs", errors: [] };
  }
  const errors = error.about.errors ?? [];
  const rules = errors.map(({ field, rule }) => (field === "" ? rule : `${field}: ${rule}`));
  return { error: [error.message, ...rules].join("; "), errors };
}
