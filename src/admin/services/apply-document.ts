// Applies a document to a tenant: resolves bases, validates the whole, computes deprecated names, and writes once.
// Nothing is written before all checks pass. A write that lost a race starts over.

import {
  diffDocuments,
  mergeDocuments,
  type Change,
  type TenantDocument,
} from "../../tenants/document/tenant-document.ts";
import type { TenantRecord } from "../../tenants/object/policy-records.ts";
import { findDeprecatedNames, type CatalogNames } from "../../tenants/document/deprecation.ts";
import { configErrors, unknownConfigMembers } from "../../handlers/check-config.ts";
import type { UntypedEnv } from "../../deployment/deployment.ts";
import { checkByFeatures } from "../../deployment/check-deployment.ts";
import { createRpcClient } from "../../tenants/object/store.ts";
import { baseStore, type ResolvedBases } from "../platform/base-store.ts";
import { getCatalogNames } from "./load-tenant-catalog.ts";
import { boundMemberErrors, documentErrors, documentSizeErrors, missingLoginErrors } from "./document-rules.ts";
import { preconditionFailed } from "../etag.ts";
import { publishHostnames, checkHostnames, reserveHostnames, releaseUnwrittenHostnames } from "./hostnames.ts";
import { requireStreamsClosed, deadlineFrom, waitForLeases } from "./propagation.ts";
import { upstreamLoopErrors } from "./upstream-loops.ts";
import { platformStubOf } from "../platform/platform-object.ts";
import { invalidFields, ProblemError } from "../problem.ts";
import type { AdminContext } from "../route.ts";
import { enforceOperatorSuspensions } from "./platform-blocks.ts";
import { requireTenantRecord, type TenantHandle } from "./tenant-handle.ts";
import { checkNameReferences, knownNamesOf, type ReferenceErrors } from "./check-name-references.ts";
import { enforceBounds } from "./upstream-bounds.ts";
import { isWithdrawal } from "./withdrawal.ts";

export interface Intent {
  /** Maps the tenant's current document to the new one. May be called again after a lost race. */
  readonly edit: (own: TenantDocument) => TenantDocument;
  /** Revisions, one of which must be current; null for no condition. */
  readonly ifMatch: readonly string[] | null;
  readonly dryRun: boolean;
  /** Whether the answer waits until the change is in effect: only for withdrawals, always, or never. */
  readonly wait: "withdrawals" | "always" | "never";
  readonly action: string;
  /** Whether a name that matches nothing causes a warning instead of an error. */
  readonly unknownNames?: boolean | undefined;
}

export interface AppliedDocument {
  readonly revision: number;
  readonly changed: boolean;
  readonly dryRun: boolean;
  /** The time from which no older version is served (milliseconds since the epoch); null: none is now, or a dry run. */
  readonly effectiveAt: number | null;
  /** The changes to the tenant's own document, or to the effective one if only a base changed. */
  readonly changes: readonly Change[];
  /** Accepted input that may be a mistake. */
  readonly warnings: ReferenceErrors["warnings"];
  /** The tenant's own document: the current one, or in a dry run the one that would result. */
  readonly own: TenantDocument;
}

const MAX_TRIES = 10;
/**
 * Unit of the random delay before a retry. Some writer always wins a race, so a writer that lost several spreads
 * out.
 */
const RETRY_SPACING_MS = 40;

export async function applyDocument(
  context: AdminContext,
  handle: TenantHandle,
  intent: Intent,
): Promise<AppliedDocument> {
  let next = intent;
  let previousChanges: readonly Change[] = [];
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    if (tries > 1) await scheduler.wait(Math.random() * tries * RETRY_SPACING_MS);
    const outcome = await applyOnce(context, handle, next);
    if (!outcome) continue;
    const changes = [...previousChanges, ...outcome.changes];
    if (!outcome.isBaseOutdated) return { ...outcome, changed: changes.length > 0, changes };
    // The write succeeded over an outdated base, so write again over the current one.
    next = { ...intent, ifMatch: null };
    previousChanges = changes;
  }
  throw new ProblemError("busy", {
    detail: "Other requests keep changing this tenant: try again",
    headers: { "retry-after": "1" },
  });
}

/** `isBaseOutdated`: a base was written at the same time, and the tenant has the older one. */
interface ApplyAttempt extends AppliedDocument {
  readonly isBaseOutdated?: boolean;
}

/** undefined: another write came in between, so the caller must try again. */
async function applyOnce(
  context: AdminContext,
  handle: TenantHandle,
  intent: Intent,
): Promise<ApplyAttempt | undefined> {
  const record = await requireTenantRecord(handle);
  const { ifMatch, dryRun } = intent;
  if (ifMatch !== null && !ifMatch.includes("*") && !ifMatch.includes(String(record.revision))) {
    throw preconditionFailed(record.revision);
  }
  const plan = await planApply(context, handle, record, intent);
  const { own, changes, warnings } = plan;
  const changed = changes.length > 0;
  const details = { changes, warnings, own };
  const outcome = { revision: record.revision, changed, dryRun, effectiveAt: null, ...details };
  if (dryRun) {
    await checkHostnames(context, handle, plan.merged);
    return outcome;
  }
  await reserveHostnames(context, handle, plan.merged, record);
  if (!changed) return { ...outcome, effectiveAt: await confirmUnchanged(context, handle, record, { plan, intent }) };
  const written = await writePlan(context, handle, record, { plan, intent });
  if (written) return { ...outcome, ...written };
  await releaseUnwrittenHostnames(context, handle, plan.merged, record);
  return undefined;
}

interface PlannedIntent {
  readonly plan: Plan;
  readonly intent: Intent;
}

async function writePlan(
  context: AdminContext,
  handle: TenantHandle,
  record: TenantRecord,
  { plan, intent }: PlannedIntent,
): Promise<Pick<ApplyAttempt, "revision" | "effectiveAt" | "isBaseOutdated"> | undefined> {
  const result = await handle.policy.write({
    own: plan.own,
    effective: plan.effective,
    deprecatedNames: plan.deprecated,
    ifRevision: record.revision,
    actor: context.caller,
    action: intent.action,
  });
  // If the tenant is gone, the next try finds that out and reports it.
  if (result.state === "conflict" || result.state === "absent") return undefined;
  const leasesEndAt = result.state === "written" ? deadlineFrom(result.leftMs) : 0;
  const effectiveAt = Math.max(
    leasesEndAt,
    await updateReferences(context, handle, record, { ...plan, revision: result.revision }),
  );
  const isOutdated = await isBaseOutdated(context.env, plan);
  if (intent.wait === "always" || (intent.wait === "withdrawals" && plan.isWithdrawal))
    await waitForLeases(effectiveAt);
  if (intent.wait !== "never" && plan.isWithdrawal) await requireStreamsClosed(handle.stub());
  return { revision: result.revision, effectiveAt, isBaseOutdated: isOutdated };
}

/** Nothing changes. But an earlier try whose answer was lost may have withdrawn something that isolates still serve. */
async function confirmUnchanged(
  context: AdminContext,
  handle: TenantHandle,
  record: TenantRecord,
  { plan, intent }: PlannedIntent,
): Promise<number | null> {
  const leasesEndAt = Math.max(
    deadlineFrom(await handle.policy.leftMs()),
    await updateReferences(context, handle, record, { ...plan, revision: record.revision }),
  );
  if (intent.wait === "always") await waitForLeases(leasesEndAt);
  if (intent.wait !== "never") await requireStreamsClosed(handle.stub());
  return leasesEndAt > Date.now() ? leasesEndAt : null;
}

export interface Plan {
  readonly own: TenantDocument;
  readonly effective: TenantDocument;
  readonly deprecated: ReturnType<typeof findDeprecatedNames>;
  readonly changes: readonly Change[];
  readonly isWithdrawal: boolean;
  /** The effective document merged over the declaration in the tenant's code. */
  readonly merged: TenantDocument;
  /** The bases as they were at planning time. */
  readonly bases: readonly TenantDocument[];
  readonly warnings: ReferenceErrors["warnings"];
}

async function planApply(
  context: AdminContext,
  handle: TenantHandle,
  record: TenantRecord,
  intent: Intent,
): Promise<Plan> {
  const own = intent.edit(record.own);
  enforceBounds(context, handle, record, own);
  await enforceOperatorSuspensions(context, handle, record, own);
  const names = await getCatalogNames(context, handle, record);
  const draft = { own, names, before: record.own, baseRevision: record.revision };
  const { effective, merged, bases, warnings } = await resolveDocument(context, handle, draft, intent);
  const before = mergeDocuments([handle.tenant.base, record.effective]);
  const deprecated = findDeprecatedNames(before, merged, names, Date.now());
  const ownChanges = diffDocuments(record.own, own);
  return {
    own,
    effective,
    merged,
    bases,
    warnings,
    deprecated,
    isWithdrawal: isWithdrawal(before, merged, deprecated),
    // If only a base document changed, show the effect on this tenant.
    changes: ownChanges.length > 0 ? ownChanges : diffDocuments(record.effective, effective),
  };
}

export interface DocumentDraft {
  readonly own: TenantDocument;
  readonly names: CatalogNames;
  /** The tenant's document before the write; absent for a new tenant. */
  readonly before?: TenantDocument;
  readonly baseRevision?: number;
}

export async function resolveDocument(
  context: AdminContext,
  handle: TenantHandle,
  { own, names, before = {}, baseRevision = 0 }: DocumentDraft,
  options: Pick<Intent, "dryRun" | "unknownNames">,
): Promise<Pick<Plan, "effective" | "merged" | "bases" | "warnings">> {
  const sizeErrors = documentSizeErrors(own);
  if (sizeErrors.length > 0) throw new ProblemError("invalid-input", { errors: sizeErrors });
  const bases = await resolveBases(context, handle, { own, baseRevision }, options);
  const effective = mergeDocuments([...bases, own]);
  const merged = mergeDocuments([handle.tenant.base, effective]);
  const { features = [] } = context.options;
  const featureErrors = checkByFeatures(features, merged, context.env as unknown as UntypedEnv);
  const loopErrors = upstreamLoopErrors(context, handle.id, merged);
  const schemaErrors = configErrors(context.options.catalog, merged, {
    has: (tool) => names.tools.includes(tool),
    isComplete: false,
  });
  const { errors: unknownNames, warnings } = checkNameReferences(own, before, knownNamesOf(names, merged));
  const loginErrors = features.some(({ name }) => name === "login") ? [] : missingLoginErrors(merged);
  const errors = [
    ...boundMemberErrors(bases, before, own),
    ...documentErrors(merged, names),
    ...featureErrors,
    ...loopErrors,
    ...loginErrors,
    ...schemaErrors,
    ...(options.unknownNames ? [] : unknownNames),
  ];
  if (errors.length > 0) throw new ProblemError("invalid-input", { errors });
  const configWarnings = unknownConfigMembers(context.options.catalog, own);
  return {
    effective,
    merged,
    bases,
    warnings: [...configWarnings, ...(options.unknownNames ? unknownNames : []), ...warnings],
  };
}

async function resolveBases(
  { env }: AdminContext,
  { id, created }: TenantHandle,
  { own: { extends: names = [] }, baseRevision }: { readonly own: TenantDocument; readonly baseRevision: number },
  { dryRun }: Pick<Intent, "dryRun">,
): Promise<readonly TenantDocument[]> {
  if (names.length === 0) return [];
  const platform = createRpcClient(platformStubOf(env), baseStore);
  const result: ResolvedBases = dryRun
    ? await platform.resolve(names)
    : await platform.resolveAndUse({ id, created }, names, baseRevision);
  if (!result.bases) {
    const { missing } = result;
    throw invalidFields(
      ...missing.map((name) => [`extends.${names.indexOf(name)}`, `there is no base document ${name}`] as const),
    );
  }
  return result.bases;
}

/** Whether a base has changed since planning: its rollout may have visited the tenant before this write. */
export async function isBaseOutdated(env: object, { own, bases }: Pick<Plan, "own" | "bases">): Promise<boolean> {
  const { extends: names = [] } = own;
  if (names.length === 0) return false;
  const current = await createRpcClient(platformStubOf(env), baseStore).resolve(names);
  return current.bases !== undefined && JSON.stringify(current.bases) !== JSON.stringify(bases);
}

/**
 * Updates the bases and hostnames that other objects record for the tenant. Returns until when the previous state
 * may be served.
 */
async function updateReferences(
  context: AdminContext,
  handle: TenantHandle,
  before: TenantRecord,
  { own, merged, revision }: Pick<Plan, "own" | "merged"> & { readonly revision: number },
): Promise<number> {
  const previousBases = before.own.extends ?? [];
  const currentBases = own.extends ?? [];
  if (previousBases.some((name) => !currentBases.includes(name))) {
    const { id, created } = handle;
    await createRpcClient(platformStubOf(context.env), baseStore).setUses({ id, created }, currentBases, revision);
  }
  return publishHostnames(context, handle, before, { merged, revision });
}
