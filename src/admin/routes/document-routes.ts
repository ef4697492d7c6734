// Routes for a tenant's document and its prompts. Both write the one document, so nothing is applied by halves.

import type { PromptDocument, TenantDocument, FieldRule } from "../../tenants/document/tenant-document.ts";
import { applyDocument, type Intent, type AppliedDocument } from "../services/apply-document.ts";
import type { ApplyResult, Infer } from "../contract.ts";
import { ifMatchOf, matchesIfNoneMatch, quoteEtag } from "../etag.ts";
import { createLimitChecker } from "../services/limit-rules.ts";
import { createBoundsChecker } from "../services/upstream-bounds.ts";
import { isoTime } from "../services/propagation.ts";
import { paginateArray } from "../page.ts";
import { notFound, ProblemError } from "../problem.ts";
import { defineRoutes, type RouteResponse, type AdminContext } from "../route.ts";
import { warningsMember } from "../services/check-name-references.ts";
import { requireTenant, requireTenantRecord } from "../services/tenant-handle.ts";
import { DOCUMENT_ENDPOINTS } from "../endpoints/tenant-endpoints.ts";

export const documentRoutes = defineRoutes(DOCUMENT_ENDPOINTS, {
  "GET /tenants/{id}/document": async (context) => {
    const { own, revision } = await requireTenantRecord(await requireTenant(context, context.params.id));
    const headers = { etag: quoteEtag(revision) };
    return matchesIfNoneMatch(context.request, String(revision)) ? { status: 304, headers } : { body: own, headers };
  },
  "PUT /tenants/{id}/document": async (context) => {
    const { dryRun, wait, unknownNames } = context.query;
    const next = context.body;
    const checkers = await Promise.all([
      createLimitChecker(context, context.params.id),
      createBoundsChecker(context, context.params.id),
    ]);
    const edit = (own: TenantDocument) => {
      const otherErrors = checkers.flatMap((checker) => checker(own, next));
      enforceOperatorMembers(context, own, next, otherErrors);
      return next;
    };
    return editDocument(context, context.params.id, { edit, action: "apply", dryRun, wait, unknownNames });
  },
  "GET /tenants/{id}/prompts": async (context) => {
    const { own } = await requireTenantRecord(await requireTenant(context, context.params.id));
    const prompts = Object.entries(own.prompts ?? {}).map(([name, prompt]) => ({ name, ...prompt }));
    const sorted = prompts.toSorted((a, b) => (a.name < b.name ? -1 : 1));
    return { body: paginateArray("prompts", sorted, context.query) };
  },
  "GET /tenants/{id}/prompts/{name}": async (context) => {
    const { id, name } = context.params;
    const { own, revision } = await requireTenantRecord(await requireTenant(context, id));
    return { body: { name, ...promptOf(own, name) }, headers: { etag: quoteEtag(revision) } };
  },
  "PUT /tenants/{id}/prompts/{name}": async (context) => {
    const { id, name } = context.params;
    const prompt = context.body;
    const edit = (own: TenantDocument) => ({ ...own, prompts: { ...own.prompts, [name]: prompt } });
    return editDocument(context, id, { edit, action: "prompt.write", ...context.query });
  },
  "DELETE /tenants/{id}/prompts/{name}": async (context) => {
    const { id, name } = context.params;
    const edit = (own: TenantDocument) => {
      promptOf(own, name);
      const { [name]: _, ...remaining } = own.prompts ?? {};
      return { ...own, prompts: remaining };
    };
    return editDocument(context, id, { edit, action: "prompt.delete", ...context.query });
  },
});

function promptOf({ prompts = {} }: TenantDocument, name: string): PromptDocument {
  const prompt = Object.hasOwn(prompts, name) ? prompts[name] : undefined;
  if (!prompt) throw notFound(`prompt ${name}`);
  return prompt;
}

interface DocumentEdit {
  readonly edit: Intent["edit"];
  readonly action: string;
  readonly dryRun?: boolean | undefined;
  readonly wait?: boolean | undefined;
  readonly unknownNames?: boolean | undefined;
}

export async function editDocument(
  context: AdminContext,
  id: string,
  { edit, action, dryRun = false, wait = false, unknownNames }: DocumentEdit,
): Promise<RouteResponse> {
  const outcome = await applyDocument(context, await requireTenant(context, id), {
    edit,
    action,
    dryRun,
    unknownNames,
    ifMatch: ifMatchOf(context.request),
    wait: wait ? "always" : "withdrawals",
  });
  return { body: toApplyResult(outcome), headers: { etag: quoteEtag(outcome.revision) } };
}

function toApplyResult(outcome: AppliedDocument): Infer<typeof ApplyResult> {
  const { revision, changed, dryRun, effectiveAt, changes, warnings } = outcome;
  const details = { changes: [...changes], ...warningsMember(warnings) };
  return { revision, changed, dryRun, effectiveAt: isoTime(effectiveAt), ...details };
}

/**
 * Members that a tenant-admin must not change: paid features, names that could belong to another tenant, and the
 * tenant-admin's own bounds.
 */
const OPERATOR_ONLY_MEMBERS = ["extends", "hostnames", "upstreamBounds", "serviceBindings", "authBounds"] as const;

/** Milliseconds. An operator's withdrawal waits for the tenant's leases, so a tenant-admin may not make them longer. */
const MAX_TENANT_ADMIN_STALENESS_MS = 10_000;

function enforceOperatorMembers(
  { caller }: AdminContext,
  before: TenantDocument,
  after: TenantDocument,
  otherErrors: readonly FieldRule[],
): void {
  if (caller.role !== "tenant-admin") return;
  const changed = OPERATOR_ONLY_MEMBERS.filter(
    (member) => JSON.stringify(before[member]) !== JSON.stringify(after[member]),
  );
  const errors: FieldRule[] = changed.map((field) => ({ field, rule: "only an operator may change it" }));
  errors.push(...otherErrors);
  const { maxStalenessMs = 0 } = after;
  if (maxStalenessMs > MAX_TENANT_ADMIN_STALENESS_MS && maxStalenessMs > (before.maxStalenessMs ?? 0)) {
    const rule = `only an operator may make leases longer than ${MAX_TENANT_ADMIN_STALENESS_MS} ms`;
    errors.push({ field: "maxStalenessMs", rule });
  }
  if (errors.length > 0) throw new ProblemError("forbidden", { errors });
}
