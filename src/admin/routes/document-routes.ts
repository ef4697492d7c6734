// Owns the routes for a tenant's document and the prompts in it. Both are writes of the one document, so that nothing
// is ever applied halfway.

import type { PromptDocument, TenantDocument } from "../../tenants/document/tenant-document.ts";
import { applyDocument, type Intent, type AppliedDocument } from "../apply/apply-document.ts";
import type { Applied, Infer } from "../contract.ts";
import { ifMatchOf, isKnown, quoted } from "../etag.ts";
import { limitJudge } from "../apply/limit-rules.ts";
import { boundsJudge } from "../apply/upstream-bounds.ts";
import { isoTime } from "../apply/in-force.ts";
import { pageOfAll } from "../page.ts";
import type { FieldRule } from "../field-rule.ts";
import { notFound, ProblemError } from "../problem.ts";
import { routes, type RouteAnswer, type Desk } from "../route.ts";
import { warned } from "../apply/named-things.ts";
import { findManaged, readRecord } from "../apply/tenant-access.ts";
import { DOCUMENT_ENDPOINTS } from "../endpoints/tenant-endpoints.ts";

export const documentRoutes = routes(DOCUMENT_ENDPOINTS, {
  "GET /tenants/{id}/document": async (call) => {
    const { own, revision } = await readRecord(await findManaged(call, call.params.id));
    const headers = { etag: quoted(revision) };
    return isKnown(call.request, String(revision)) ? { status: 304, headers } : { body: own, headers };
  },
  "PUT /tenants/{id}/document": async (call) => {
    const { dryRun, wait, unknownNames } = call.query;
    const next = call.body;
    const judges = await Promise.all([limitJudge(call, call.params.id), boundsJudge(call, call.params.id)]);
    const edit = (own: TenantDocument) => {
      const ofOthers = judges.flatMap((judge) => judge(own, next));
      checkMembers(call, own, next, ofOthers);
      return next;
    };
    return applied(call, call.params.id, { edit, action: "apply", dryRun, wait, unknownNames });
  },
  "GET /tenants/{id}/prompts": async (call) => {
    const { own } = await readRecord(await findManaged(call, call.params.id));
    const prompts = Object.entries(own.prompts ?? {}).map(([name, prompt]) => ({ name, ...prompt }));
    const sorted = prompts.toSorted((a, b) => (a.name < b.name ? -1 : 1));
    return { body: pageOfAll("prompts", sorted, call.query) };
  },
  "GET /tenants/{id}/prompts/{name}": async (call) => {
    const { id, name } = call.params;
    const { own, revision } = await readRecord(await findManaged(call, id));
    return { body: { name, ...promptOf(own, name) }, headers: { etag: quoted(revision) } };
  },
  "PUT /tenants/{id}/prompts/{name}": async (call) => {
    const { id, name } = call.params;
    const prompt = call.body;
    const edit = (own: TenantDocument) => ({ ...own, prompts: { ...own.prompts, [name]: prompt } });
    return applied(call, id, { edit, action: "prompt.write", ...call.query });
  },
  "DELETE /tenants/{id}/prompts/{name}": async (call) => {
    const { id, name } = call.params;
    const edit = (own: TenantDocument) => {
      promptOf(own, name);
      const { [name]: _, ...left } = own.prompts ?? {};
      return { ...own, prompts: left };
    };
    return applied(call, id, { edit, action: "prompt.delete", ...call.query });
  },
});

function promptOf({ prompts = {} }: TenantDocument, name: string): PromptDocument {
  const prompt = Object.hasOwn(prompts, name) ? prompts[name] : undefined;
  if (!prompt) throw notFound(`prompt ${name}`);
  return prompt;
}

interface Edit {
  readonly edit: Intent["edit"];
  readonly action: string;
  readonly dryRun?: boolean | undefined;
  readonly wait?: boolean | undefined;
  readonly unknownNames?: boolean | undefined;
}

export async function applied(
  desk: Desk,
  id: string,
  { edit, action, dryRun = false, wait = false, unknownNames }: Edit,
): Promise<RouteAnswer> {
  const outcome = await applyDocument(desk, await findManaged(desk, id), {
    edit,
    action,
    dryRun,
    unknownNames,
    ifMatch: ifMatchOf(desk.request),
    wait: wait ? "always" : "withdrawals",
  });
  return { body: shown(outcome), headers: { etag: quoted(outcome.revision) } };
}

function shown(outcome: AppliedDocument): Infer<typeof Applied> {
  const { revision, changed, dryRun, effectiveAt, changes, warnings } = outcome;
  const said = { changes: [...changes], ...warned(warnings) };
  return { revision, changed, dryRun, effectiveAt: isoTime(effectiveAt), ...said };
}

/**
 * Members that a tenant-admin must not change: what the customer pays for, what could be another tenant's, and what bounds
 * the tenant-admin.
 */
const OPERATORS_ONLY = ["extends", "hostnames", "upstreamBounds", "serviceBindings", "authBounds"] as const;

/** What an operator withdraws waits for the tenant's leases: nobody else may make them longer than this. Milliseconds. */
const LONGEST_OF_A_TENANT = 10_000;

function checkMembers(
  { caller }: Desk,
  before: TenantDocument,
  after: TenantDocument,
  ofOthers: readonly FieldRule[],
): void {
  if (caller.role !== "tenant-admin") return;
  const changed = OPERATORS_ONLY.filter((member) => JSON.stringify(before[member]) !== JSON.stringify(after[member]));
  const errors: FieldRule[] = changed.map((field) => ({ field, rule: "only an operator may change it" }));
  errors.push(...ofOthers);
  const { maxStalenessMs = 0 } = after;
  if (maxStalenessMs > LONGEST_OF_A_TENANT && maxStalenessMs > (before.maxStalenessMs ?? 0)) {
    const rule = `only an operator may make leases longer than ${LONGEST_OF_A_TENANT} ms`;
    errors.push({ field: "maxStalenessMs", rule });
  }
  if (errors.length > 0) throw new ProblemError("forbidden", { errors });
}
