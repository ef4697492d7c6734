// Owns hostnames whose owner does not name them: a write was cut off between its claim and its end. Refuses to free one that a
// write may still be about to name: an old one is made to fail first.

import { mergeDocuments } from "../../tenants/document/tenant-document.ts";
import type { DirectoryRef } from "../../tenants/directory/directory-object.ts";
import { retryingDirectory } from "./retrying-directory.ts";
import { isUnknownTenant } from "../../tenants/object/tenant-uid.ts";
import { ProblemError } from "../problem.ts";
import type { AdminContext } from "../route.ts";
import { createTenantHandle, resolveTenant, type TenantHandle } from "./tenant-handle.ts";

/** A write that began so long ago was cut off, as far as anybody waits for it; if it was not, it begins again. */
const ABANDONED_AFTER_MS = 60_000;

/** Gives the hostname back, unless its owner has claimed it again meanwhile. */
export type ReleaseHostname = () => Promise<void>;

/** How a hostname is freed that its owner does not name; undefined: it does, or may be about to. */
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
  // It is being made, or deleted: then what it had goes with it.
  const record = await owner.policy.read(owner.entry === null);
  if (!record || mergeDocuments([owner.tenant.base, record.effective]).hostnames?.includes(hostname)) return undefined;
  const { revision } = record;
  const isOpen = claim.basis >= revision;
  if (isOpen && claim.age < ABANDONED_AFTER_MS) return undefined;
  return async () => {
    await directory.releaseHostname(hostname, ref, isOpen ? await owner.policy.fence(revision) : revision);
  };
}

/** undefined: the tenant that claimed it has ended. */
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
