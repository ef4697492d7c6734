// Finds hostnames that their owner's document does not name, left by a write that was cut off. Before such a hostname
// is freed, an old write that could still name it is made to fail.

import { mergeDocuments } from "../../tenants/document/tenant-document.ts";
import type { DirectoryRef } from "../../tenants/directory/directory-object.ts";
import { retryingDirectory } from "./retrying-directory.ts";
import { isUnknownTenant } from "../../tenants/object/tenant-uid.ts";
import { ProblemError } from "../problem.ts";
import type { AdminContext } from "../route.ts";
import { createTenantHandle, resolveTenant, type TenantHandle } from "./tenant-handle.ts";

/** A write older than this counts as cut off. If it is still running, it fails and starts over. */
const ABANDONED_AFTER_MS = 60_000;

/** Releases the hostname, unless its owner has claimed it again meanwhile. */
export type ReleaseHostname = () => Promise<void>;

/** How to release a hostname that its owner does not name; undefined: the owner names it, or may be about to. */
export async function findOrphanedHostname(
  context: AdminContext,
  hostname: string,
): Promise<ReleaseHostname | undefined> {
  const directory = retryingDirectory(context.env, hostname);
  const claim = await directory.getHostnameClaim(hostname);
  if (!claim) return async () => {};
  const ref: DirectoryRef = { id: claim.tenant, created: claim.created === "" ? null : claim.created };
  const owner = await findOwner(context, ref);
  if (!owner) return () => directory.releaseHostname(hostname, ref);
  // Without a record, the tenant is being created or deleted, which settles its hostnames.
  const record = await owner.policy.read(owner.entry === null);
  if (!record || mergeDocuments([owner.tenant.base, record.effective]).hostnames?.includes(hostname)) return undefined;
  const { revision } = record;
  const isOpen = claim.tenantRevision >= revision;
  if (isOpen && claim.age < ABANDONED_AFTER_MS) return undefined;
  return async () => {
    await directory.releaseHostname(hostname, ref, isOpen ? await owner.policy.fence(revision) : revision);
  };
}

/** undefined: the tenant that claimed the hostname was deleted. */
async function findOwner(context: AdminContext, { id, created }: DirectoryRef): Promise<TenantHandle | undefined> {
  try {
    const resolvedTenant = await resolveTenant(context, id);
    const isOther = created !== null && resolvedTenant.entry?.created !== created;
    return isOther ? undefined : createTenantHandle(context, id, resolvedTenant);
  } catch (error) {
    if (isUnknownTenant(error) || (error instanceof ProblemError && error.key === "not-found")) return undefined;
    throw error;
  }
}
