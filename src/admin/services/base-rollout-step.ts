// One step of a base rollout, in its own invocation. The outcome of each page is stored before the next page. A step
// that is cut off runs again, so a tenant may be applied twice.

import type { UntypedEnv } from "../../deployment/deployment.ts";
import { withTimeout } from "../../tenants/cache/with-timeout.ts";
import type { BaseOutcome, BasePage } from "../platform/base-rollouts.ts";
import { ProblemError } from "../problem.ts";
import type { AdminEnv, AdminOptions, AdminContext } from "../route.ts";
import { applyDocument } from "./apply-document.ts";
import { mapConcurrent } from "./map-concurrent.ts";
import { rolloutsOf } from "./platform-blocks.ts";
import { requireTenant } from "./tenant-handle.ts";

/** An invocation may make 10,000 calls. A tenant takes nine, and more if another writer interferes. */
const TENANTS_PER_STEP = 500;
const APPLY_TIMEOUT_MS = 20_000;

/**
 * Runs in an invocation that the platform object started. `optionsFor`: the options of the Worker that has the
 * tenant.
 */
export async function runBaseRolloutStep(
  optionsFor: (tenant: string) => AdminOptions,
  bindings: UntypedEnv,
  payload: unknown,
): Promise<void> {
  const { rollout } = payload as { readonly rollout: number };
  const env = bindings as unknown as AdminEnv;
  const rollouts = rolloutsOf(env);
  const request = new Request("https://tenantry.internal/admin/v1/rollouts");
  for (let tenants = 0; tenants < TENANTS_PER_STEP;) {
    const page = await rollouts.nextPage(rollout);
    if (!page) return;
    const context = { env, request, caller: { name: page.actor, role: "operator", tenants: null } } as const;
    const results = await mapConcurrent(page.tenants, (tenant) =>
      tryApplyBase({ ...context, options: optionsFor(tenant) }, page, tenant),
    );
    const outcomes = results.map(({ outcome }) => outcome);
    const leftMs = Math.max(0, ...results.map(({ effectiveAt }) => effectiveAt - Date.now()));
    await rollouts.reportOutcomes(rollout, { after: page.after, outcomes, leftMs });
    tenants += page.tenants.length;
  }
  await rollouts.continueLater(rollout);
}

interface TenantResult {
  readonly outcome: BaseOutcome;
  readonly effectiveAt: number;
}

/** Never rejects: an error becomes the tenant's outcome. */
async function tryApplyBase(context: AdminContext, { base, dryRun }: BasePage, tenant: string): Promise<TenantResult> {
  try {
    const result = applyBase(context, { base, dryRun }, tenant);
    return await withTimeout(result, APPLY_TIMEOUT_MS, tenant);
  } catch (error) {
    return { outcome: failureOutcome(context, tenant, error), effectiveAt: 0 };
  }
}

async function applyBase(
  context: AdminContext,
  { base, dryRun }: Pick<BasePage, "base" | "dryRun">,
  tenant: string,
): Promise<TenantResult> {
  const handle = await requireTenant(context, tenant);
  const record = await handle.policy.read(handle.entry === null);
  // A tenant that is just being created or starts to extend the base reads the base again when written.
  if (!record?.own.extends?.includes(base)) return { outcome: unchangedOutcome(tenant), effectiveAt: 0 };
  const { changes, effectiveAt } = await applyDocument(context, handle, {
    edit: (now) => now,
    ifMatch: null,
    dryRun,
    wait: "never",
    action: `rollout of base ${base}`,
  });
  return { outcome: { tenant, state: "done", changes }, effectiveAt: effectiveAt ?? 0 };
}

function unchangedOutcome(tenant: string): BaseOutcome {
  return { tenant, state: "done", changes: [] };
}

function failureOutcome({ options }: AdminContext, tenant: string, error: unknown): BaseOutcome {
  const isRefusal = error instanceof ProblemError && error.key !== "busy";
  if (!isRefusal) {
    options.onError?.(error);
    return { tenant, state: "unreached" };
  }
  // The tenant was deleted meanwhile, so there is nothing to do.
  if (error.key === "not-found") return unchangedOutcome(tenant);
  const errors = error.about.errors ?? [];
  const rules = errors.map(({ field, rule }) => (field === "" ? rule : `${field}: ${rule}`));
  return { tenant, state: "refused", error: [error.message, ...rules].join("; "), errors };
}
