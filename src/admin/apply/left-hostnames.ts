// Owns hostnames whose owner does not name them: a write was cut off between its claim and its end. Refuses to free one that a
// write may still be about to name: an old one is made to fail first.

import { mergeDocuments } from "../../tenants/document/tenant-document.ts";
import type { Named } from "../../tenants/directory/directory-object.ts";
import { askedDirectory } from "./asked-directory.ts";
import { isGone } from "../../tenants/authority/incarnation.ts";
import { ProblemError } from "../problem.ts";
import type { Desk } from "../route.ts";
import { managedOf, meetTenant, type Managed } from "./tenant-access.ts";

/** A write that began so long ago was cut off, as far as anybody waits for it; if it was not, it begins again. */
const CUT_OFF_AFTER_MS = 60_000;

/** Gives the hostname back, unless its owner has claimed it again meanwhile. */
export type Freeing = () => Promise<void>;

/** How a hostname is freed that its owner does not name; undefined: it does, or may be about to. */
export async function findLeft(desk: Desk, hostname: string): Promise<Freeing | undefined> {
  const directory = askedDirectory(desk.env, hostname);
  const claim = await directory.claimOn(hostname);
  if (!claim) return async () => {};
  const named: Named = { id: claim.tenant, created: claim.created === "" ? null : claim.created };
  const owner = await ownerOf(desk, named);
  if (!owner) return () => directory.releaseHostname(hostname, named);
  // It is being made, or deleted: then what it had goes with it.
  const record = await owner.policy.read(owner.entry === null);
  if (!record || mergeDocuments([owner.tenant.base, record.effective]).hostnames?.includes(hostname)) return undefined;
  const { revision } = record;
  const isOpen = claim.basis >= revision;
  if (isOpen && claim.age < CUT_OFF_AFTER_MS) return undefined;
  return async () => {
    await directory.releaseHostname(hostname, named, isOpen ? await owner.policy.fence(revision) : revision);
  };
}

/** undefined: the tenant that claimed it has ended. */
async function ownerOf(desk: Desk, { id, created }: Named): Promise<Managed | undefined> {
  try {
    const met = await meetTenant(desk, id);
    const isOther = created !== null && met.entry?.created !== created;
    return isOther ? undefined : managedOf(desk, id, met);
  } catch (error) {
    if (isGone(error) || (error instanceof ProblemError && error.key === "not-found")) return undefined;
    throw error;
  }
}
