// Routes for suspending a tenant, or a profile, a principal or a tool of one. A suspension is in effect when the
// request returns.

import { ANONYMOUS } from "../../auth/principal.ts";
import { mergeDocuments, type TenantDocument } from "../../tenants/document/tenant-document.ts";
import { DEFAULT_PLACEMENT } from "../../tenants/directory/placement.ts";
import { isUnknownTenant } from "../../tenants/object/tenant-uid.ts";
import { withTimeout } from "../../tenants/cache/with-timeout.ts";
import type { TenantRecord, WriteResult } from "../../tenants/object/policy-records.ts";
import type { Suspender } from "../../tenants/object/policy-rpc.ts";
import { getCatalogNames } from "../services/load-tenant-catalog.ts";
import type { SuspensionKind, Infer } from "../contract.ts";
import { confirmWithdrawal } from "../services/propagation.ts";
import { retryingDirectory } from "../services/retrying-directory.ts";
import {
  enforceOperatorSuspensionOnResume,
  getPendingSuspensions,
  rolloutsOf,
  withBlocks,
} from "../services/platform-blocks.ts";
import { paginateArray } from "../page.ts";
import { invalidFields, notFound, ProblemError } from "../problem.ts";
import { defineRoutes, type RouteResponse, type AdminContext } from "../route.ts";
import { requireTenant, requireTenantRecord, type TenantHandle } from "../services/tenant-handle.ts";
import { SUSPENSION_ENDPOINTS } from "../endpoints/access-endpoints.ts";

/** Ids that the Worker's own code uses outside of a call. No list of them exists. */
const WORKER_ID = /^worker [\w.:@/+-]{1,200}$/;

type SuspensionKindName = Infer<typeof SuspensionKind>;

export const suspensionRoutes = defineRoutes(SUSPENSION_ENDPOINTS, {
  "GET /tenants/{id}/suspensions": async (context) => {
    const handle = await requireTenant(context, context.params.id);
    const record = await requireTenantRecord(handle);
    const pending = (await getPendingSuspensions(context.env, handle, record)).map((one) => ({
      ...one,
      onItsWay: true,
    }));
    return { body: paginateArray("suspensions", [...pending, ...withBlocks(record).suspensions], context.query) };
  },
  "POST /tenants/{id}/suspensions": async (context) => {
    const { kind, name = "", note } = context.body;
    requireOperatorForTenant(context, kind);
    if (kind === "tenant" && context.body.name !== undefined)
      throw invalidFields(["name", "must be absent for a tenant"]);
    if (kind === "tenant") return suspendTenant(context, context.params.id, note);
    if (name === "") throw invalidFields(["name", `is required for a ${kind}`]);
    const handle = await requireTenant(context, context.params.id);
    const suspendedName = await resolveSuspensionName(context, handle, kind, name);
    const result = await handle.policy.suspend({ kind, name: suspendedName, note }, suspenderOf(context));
    if (result.state === "full") throw new ProblemError("conflict", { detail: "The tenant has too many suspensions" });
    return confirmWithdrawal(handle, result, context);
  },
  "DELETE /tenants/{id}/suspensions/{kind}": async (context) => {
    const { id, kind } = context.params;
    if (kind !== "tenant") throw invalidFields(["kind", `must be followed by the name of the ${kind}`]);
    return resumeSuspension(context, id, kind, "");
  },
  "DELETE /tenants/{id}/suspensions/{kind}/{name}": async (context) => {
    const { id, kind, name } = context.params;
    if (kind === "tenant") throw invalidFields(["name", "must be absent for a tenant"]);
    return resumeSuspension(context, id, kind, kind === "principal" && KEY_ID.test(name) ? `key ${name}` : name);
  },
});

/** A tenant-admin must not suspend the whole tenant, because only an operator could resume it. */
function requireOperatorForTenant({ caller }: AdminContext, kind: SuspensionKindName): void {
  if (kind === "tenant" && caller.role === "tenant-admin") {
    throw new ProblemError("forbidden", { detail: "Only an operator can suspend a whole tenant" });
  }
}

const KEY_ID = /^[0-9A-Za-z]{10}$/;

/**
 * The name to suspend. Rejects an unknown name, whose suspension would have no effect. A key's id alone also names
 * its principal.
 */
async function resolveSuspensionName(
  context: AdminContext,
  handle: TenantHandle,
  kind: Exclude<SuspensionKindName, "tenant">,
  name: string,
): Promise<string> {
  const record = await requireTenantRecord(handle);
  switch (kind) {
    case "profile": {
      const { profiles = {} } = mergeDocuments([handle.tenant.base, record.effective]);
      if (!Object.hasOwn(profiles, name)) throw invalidFields(["name", `there is no profile ${name}`]);
      return name;
    }
    case "tool": {
      const found = await findToolName(context, handle, record, name);
      if (found === undefined) throw invalidFields(["name", `there is no tool ${name}`]);
      return found;
    }
    case "principal":
      return resolvePrincipalName(context, handle, record, name);
  }
}

/** The policy name of a tool, also if `name` is its listed name. */
async function findToolName(context: AdminContext, handle: TenantHandle, record: TenantRecord, name: string) {
  const { tools, search, listed } = await getCatalogNames(context, handle, record);
  return [name, listed?.get(name)].find((one) => one !== undefined && [...tools, ...search].includes(one));
}

async function resolvePrincipalName(
  { options }: AdminContext,
  { policy, tenant }: TenantHandle,
  record: TenantRecord,
  name: string,
) {
  const id = KEY_ID.test(name) ? `key ${name}` : name;
  if (id === ANONYMOUS.id || (id.startsWith("key ") && (await policy.key(id.slice("key ".length))))) return id;
  const isUser = options.catalog.isPrivate === true && /^app ./.test(id);
  if (isUser || isExternalPrincipal(id, mergeDocuments([tenant.base, record.effective])))
    return checkSuspensionLimit(record, id);
  const known = `"${ANONYMOUS.id}", a key's id, "app ID", "oauth ISSUER SUBJECT" or "worker NAME"`;
  throw invalidFields(["name", `there is no principal ${name}: ${known}`]);
}

/** Whether a principal may come from an issuer, the tenant's sign-in or the app. No list of these exists. */
function isExternalPrincipal(id: string, { auth: { issuers = [], login } = {} }: TenantDocument): boolean {
  if (WORKER_ID.test(id)) return true;
  const [, issuer, subject] = /^oauth (\S+) (.)/.exec(id) ?? [];
  const urls = [login?.authorizeUrl, login?.productUrl];
  const isNamed = [...issuers, login].some((one) => one?.issuer === issuer);
  // A principal without an issuer has the origin in its place.
  return subject !== undefined && (isNamed || urls.some((url) => `${url}/`.startsWith(`${issuer}/`)));
}

/** Every lease contains all suspensions. */
const MAX_EXTERNAL_SUSPENSIONS = 1000;

function checkSuspensionLimit({ suspensions }: TenantRecord, id: string): string {
  const external = suspensions.filter(({ name }) => /^(?:app|oauth|worker) /.test(name) && name !== id);
  if (external.length < MAX_EXTERNAL_SUSPENSIONS) return id;
  throw invalidFields([
    "name",
    `${MAX_EXTERNAL_SUSPENSIONS} principals of issuers and code are suspended already: remove their access there`,
  ]);
}

const TENANT_TIMEOUT_MS = 1000;

/** Suspends the tenant in its own object. If that does not answer, the platform object delivers the suspension. */
async function suspendTenant(context: AdminContext, id: string, note: string): Promise<RouteResponse> {
  const result = await withTimeout(suspendInObject(context, id, note), TENANT_TIMEOUT_MS).catch((error: unknown) => {
    if (error instanceof ProblemError || isUnknownTenant(error)) throw error;
    context.options.onError?.(error);
    return undefined;
  });
  if (!result) return deferTenantSuspension(context, id, note);
  return confirmWithdrawal(result.managed, result.result, context);
}

/** Answers with a suspension that the tenant object has not confirmed. Throws `not-found`. */
async function deferTenantSuspension(context: AdminContext, id: string, note: string): Promise<RouteResponse> {
  const { env, caller } = context;
  const inCode = context.options.tenants.has(id);
  const directory = retryingDirectory(env, id);
  const { entry } = inCode ? { entry: null } : await directory.lookup(id);
  if (!entry && !inCode && !(await directory.isDeclared(id))) throw notFound(`tenant ${id}`);
  const { jurisdiction, region } = entry ?? DEFAULT_PLACEMENT;
  await rolloutsOf(env).deferSuspension({ id, created: entry?.created ?? "", jurisdiction, region }, note, caller);
  return { status: 202, body: { revision: 0, changed: true, effectiveAt: null } };
}

async function suspendInObject(context: AdminContext, id: string, note: string) {
  const handle = await requireTenant(context, id);
  await requireTenantRecord(handle);
  // Only a tenant-admin's suspensions count towards a maximum.
  const result = await handle.policy.suspend({ kind: "tenant", name: "", note }, suspenderOf(context));
  return { managed: handle, result: result as WriteResult };
}

async function resumeSuspension(
  context: AdminContext,
  id: string,
  kind: SuspensionKindName,
  name: string,
): Promise<RouteResponse> {
  const handle = await requireTenant(context, id);
  const record = await requireTenantRecord(handle);
  const toolName = kind === "tool" ? await findToolName(context, handle, record, name) : undefined;
  if (kind === "tool") await enforceOperatorSuspensionOnResume(context, handle, record, toolName ?? name);
  if (kind === "tool") rejectBlockedTool(record, toolName ?? name);
  const created = handle.entry === null ? "" : handle.created;
  const canceled = kind === "tenant" ? await rolloutsOf(context.env).cancelDeferredSuspension(id, created) : undefined;
  const result = await handle.policy.resume(kind, toolName ?? name, suspenderOf(context), canceled?.version);
  if (result.state === "forbidden")
    throw new ProblemError("forbidden", { detail: "An operator suspended this, so only an operator can resume it" });
  const answer = await confirmWithdrawal(handle, result);
  return canceled?.changed ? { body: { ...(answer.body as object), changed: true } } : answer;
}

/** A tool that is blocked in every tenant can only be unblocked in every tenant. */
function rejectBlockedTool({ suspensions, blocks }: TenantRecord, name: string): void {
  const isOwn = suspensions.some((one) => one.kind === "tool" && one.name === name);
  if (isOwn || !blocks.blocks.some((block) => block.name === name)) return;
  throw new ProblemError("conflict", {
    detail: `The tool ${name} is blocked in every tenant: tenantry block lift ${name}`,
  });
}

function suspenderOf({ caller: { name, role } }: AdminContext): Suspender {
  return { name, isTenantAdmin: role === "tenant-admin" };
}
