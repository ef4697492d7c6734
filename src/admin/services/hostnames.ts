// The directory's record of hostnames, which belong to one tenant each. Hostnames are claimed before a document is
// written and released after. The document in the tenant object is decisive, and the directory follows. A hostname
// that a pending write may name is never released; unused hostnames are found later.

import { AppError } from "../../protocol/app-error.ts";
import { isUnknownTenant } from "../../tenants/object/tenant-uid.ts";
import type { TenantRecord } from "../../tenants/object/policy-records.ts";
import type { ClaimResult, DirectoryRef } from "../../tenants/directory/directory-object.ts";
import { mergeDocuments, type TenantDocument } from "../../tenants/document/tenant-document.ts";
import { forgetName, NAME_TTL_MS } from "../../tenants/directory/directory.ts";
import { retryingDirectory, releaseHostnameWithRetry } from "./retrying-directory.ts";
import { isHostAllowed, hostnameOf } from "../../auth/origin.ts";
import { tenantIdInHostname, isWorkerHostname } from "../../tenants/directory/worker-hosts.ts";
import { invalidFields, ProblemError } from "../problem.ts";
import type { AdminContext } from "../route.ts";
import { findOrphanedHostname } from "./orphaned-hostnames.ts";
import type { TenantHandle } from "./tenant-handle.ts";

type HostnameOwner = Pick<TenantHandle, "id" | "entry">;

/** The state that a write replaces. For a new tenant: empty, revision 0. */
export type PreviousRecord = Pick<TenantRecord, "revision" | "effective">;

function directoryRefOf({ id, entry }: HostnameOwner): DirectoryRef {
  return { id, created: entry?.created ?? null };
}

/**
 * Throws `conflict` for a hostname of another tenant, and rejects the Worker's own hostnames. `merged`: the
 * effective document over the tenant's code. Hostnames that the tenant has already were checked when claimed.
 */
export async function checkHostnames(
  context: AdminContext,
  { id }: HostnameOwner,
  merged: TenantDocument,
): Promise<void> {
  for (const [at, hostname] of (merged.hostnames ?? []).entries()) {
    const owner = await retryingDirectory(context.env, hostname).lookupHostname(hostname);
    if (owner === id) continue;
    const hostnameRule = hostnameError(context, hostname);
    if (hostnameRule !== undefined) throw invalidFields([`hostnames.${at}`, hostnameRule]);
    if (owner !== null && !(await findOrphanedHostname(context, hostname))) throw hostnameTaken(hostname, at);
  }
}

/**
 * Why no tenant can have the hostname. The check includes the hostname of this request, so an operator cannot give
 * that one away. `HOSTS` lists names of the Worker and of tenants; an owner, who may deploy, knows which is which.
 */
function hostnameError({ env, request, caller }: AdminContext, hostname: string): string | undefined {
  if (env.HOSTS && caller.role !== "owner" && isHostAllowed(new Headers({ host: hostname }), env)) {
    return `HOSTS lists ${hostname}: only an owner may give it to a tenant`;
  }
  if (tenantIdInHostname(hostname, env) !== undefined) {
    return `under ${env.TENANT_HOST} each tenant has the hostname that begins with its id`;
  }
  const requestHosts = [request.headers.get("host") ?? "", new URL(request.url).host].map(hostnameOf);
  return isWorkerHostname(hostname, env) || requestHosts.includes(hostname)
    ? `${hostname} is a hostname of the Worker itself`
    : undefined;
}

/**
 * Claims all hostnames or none, for a write that replaces `before`. If that write is not made, call
 * `releaseUnwrittenHostnames`.
 */
export async function reserveHostnames(
  context: AdminContext,
  subject: TenantHandle,
  merged: TenantDocument,
  before: PreviousRecord,
): Promise<void> {
  await checkHostnames(context, subject, merged);
  for (const [at, hostname] of (merged.hostnames ?? []).entries()) {
    const result = await claimHostname(context, subject, hostname, before.revision);
    if (result === "claimed" || result === "unchanged") continue;
    await releaseUnwrittenHostnames(
      context,
      subject,
      { ...merged, hostnames: merged.hostnames?.slice(0, at) ?? [] },
      before,
    );
    throw result === "taken" ? hostnameTaken(hostname, at) : new AppError("unknownTenant");
  }
}

async function claimHostname(
  context: AdminContext,
  subject: HostnameOwner,
  hostname: string,
  baseRevision: number,
): Promise<ClaimResult> {
  const directory = retryingDirectory(context.env, hostname);
  const result = await directory.claimHostname(hostname, directoryRefOf(subject), baseRevision);
  const release = result === "taken" ? await findOrphanedHostname(context, hostname) : undefined;
  if (!release) return result;
  await release();
  return directory.claimHostname(hostname, directoryRefOf(subject), baseRevision);
}
/** Releases the hostnames of a write that was not made, except those in the tenant's current document. */
export async function releaseUnwrittenHostnames(
  context: AdminContext,
  subject: TenantHandle,
  wanted: TenantDocument,
  before: PreviousRecord,
): Promise<void> {
  if (!wanted.hostnames?.length) return;
  const { entry, tenant, policy } = subject;
  // A tenant that is deleted releases its hostnames itself.
  const record = await policy.read(entry === null).catch(ignoreUnknownTenant);
  const { revision = 0, effective = {} } = record ?? {};
  const current = mergeDocuments([tenant.base, effective]);
  for (const hostname of hostnamesNotIn(wanted, current))
    await retryingDirectory(context.env, hostname).releaseHostname(
      hostname,
      directoryRefOf(subject),
      revision,
      before.revision,
    );
}

function hostnamesNotIn({ hostnames = [] }: TenantDocument, other: TenantDocument): readonly string[] {
  return hostnames.filter((hostname) => !other.hostnames?.includes(hostname));
}

function ignoreUnknownTenant(error: unknown): undefined {
  if (!isUnknownTenant(error)) throw error;
}

/** Releases the hostnames of a tenant that is being deleted, to which no write is possible any more. */
export async function releaseAllHostnames(
  { env }: AdminContext,
  subject: HostnameOwner,
  hostnames: readonly string[],
): Promise<void> {
  for (const hostname of hostnames) {
    await releaseHostnameWithRetry(env, hostname, directoryRefOf(subject));
    forgetName(hostname);
  }
}

/**
 * `revision`: the revision of `merged`. Returns when every isolate has dropped the previous state, in milliseconds
 * since the epoch; 0: at once.
 */
export async function publishHostnames(
  context: AdminContext,
  subject: HostnameOwner,
  before: PreviousRecord,
  { merged, revision }: { readonly merged: TenantDocument; readonly revision: number },
): Promise<number> {
  const removed = hostnamesNotIn(before.effective, merged);
  for (const hostname of removed)
    await releaseHostnameWithRetry(context.env, hostname, directoryRefOf(subject), revision);
  for (const hostname of [...removed, ...(merged.hostnames ?? [])]) forgetName(hostname);
  return removed.length > 0 ? Date.now() + NAME_TTL_MS : 0;
}

function hostnameTaken(hostname: string, at: number): ProblemError {
  return new ProblemError("conflict", {
    errors: [{ field: `hostnames.${at}`, rule: `${hostname} belongs to another tenant` }],
  });
}
