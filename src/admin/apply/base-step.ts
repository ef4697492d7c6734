// One step of the rollout of a base document, in an invocation of its own: so many tenants, with what came of each written down
// before the next. A step that is cut off is taken again, and a tenant may be applied twice.

import type { Bindings } from "../../deployment/deployment.ts";
import { inTime } from "../../tenants/isolate/in-time.ts";
import type { BaseOutcome, BasePage } from "../platform/base-rollouts.ts";
import { ProblemError } from "../problem.ts";
import type { AdminEnv, AdminOptions, Desk } from "../route.ts";
import { applyDocument } from "./apply-document.ts";
import { inLanes } from "./lanes.ts";
import { rolloutsOf } from "./stopped-everywhere.ts";
import { findManaged } from "./tenant-access.ts";

/** An invocation may make 10,000 calls; a tenant takes nine, and more where somebody else writes to it. */
const TENANTS_A_STEP = 500;
const APPLIED_WITHIN_MS = 20_000;

/** In an invocation that the platform's object began. `optionsFor`: those of the Worker that has the tenant. */
export async function baseStep(
  optionsFor: (tenant: string) => AdminOptions,
  bindings: Bindings,
  order: unknown,
): Promise<void> {
  const { rollout } = order as { readonly rollout: number };
  const env = bindings as unknown as AdminEnv;
  const rollouts = rolloutsOf(env);
  const request = new Request("https://tenantry.internal/admin/v1/rollouts");
  for (let tenants = 0; tenants < TENANTS_A_STEP;) {
    const page = await rollouts.nextPage(rollout);
    if (!page) return;
    const desk = { env, request, caller: { name: page.actor, role: "operator", tenants: null } } as const;
    const applied = await inLanes(page.tenants, (tenant) =>
      applyTo({ ...desk, options: optionsFor(tenant) }, page, tenant),
    );
    const outcomes = applied.map(({ outcome }) => outcome);
    const leftMs = Math.max(0, ...applied.map(({ effectiveAt }) => effectiveAt - Date.now()));
    await rollouts.report(rollout, { after: page.after, outcomes, leftMs });
    tenants += page.tenants.length;
  }
  await rollouts.handOver(rollout);
}

interface Applied {
  readonly outcome: BaseOutcome;
  readonly effectiveAt: number;
}

/** Never rejects: what fails becomes the tenant's outcome. */
async function applyTo(desk: Desk, { base, dryRun }: BasePage, tenant: string): Promise<Applied> {
  try {
    const applying = applyBase(desk, { base, dryRun }, tenant);
    return await inTime(applying, APPLIED_WITHIN_MS, tenant);
  } catch (error) {
    return { outcome: failed(desk, tenant, error), effectiveAt: 0 };
  }
}

async function applyBase(
  desk: Desk,
  { base, dryRun }: Pick<BasePage, "base" | "dryRun">,
  tenant: string,
): Promise<Applied> {
  const managed = await findManaged(desk, tenant);
  const record = await managed.policy.read(managed.entry === null);
  // One that is just being made, or taking the base, reads the base again when it is written.
  if (!record?.own.extends?.includes(base)) return { outcome: nothing(tenant), effectiveAt: 0 };
  const { changes, effectiveAt } = await applyDocument(desk, managed, {
    edit: (now) => now,
    ifMatch: null,
    dryRun,
    wait: "never",
    action: `rollout of base ${base}`,
  });
  return { outcome: { tenant, state: "done", changes }, effectiveAt: effectiveAt ?? 0 };
}

function nothing(tenant: string): BaseOutcome {
  return { tenant, state: "done", changes: [] };
}

function failed({ options }: Desk, tenant: string, error: unknown): BaseOutcome {
  const isRefusal = error instanceof ProblemError && error.key !== "busy";
  if (!isRefusal) {
    options.onError?.(error);
    return { tenant, state: "unreached" };
  }
  // Deleted meanwhile: there is nothing to do.
  if (error.key === "not-found") return nothing(tenant);
  const errors = error.about.errors ?? [];
  const rules = errors.map(({ field, rule }) => (field === "" ? rule : `${field}: ${rule}`));
  return { tenant, state: "refused", error: [error.message, ...rules].join("; "), errors };
}
