// Owns what the directory says about a tenant beside its id: hostnames, which belong to one tenant only, and whether it
// is private. Claimed before a document is written, released after it.

import type { TenantDocument } from "../../tenants/document/tenant-document.ts";
import { directoryOf, forgetName, UNKNOWN_FOR_MS } from "../../tenants/directory/directory.ts";
import { ProblemError } from "../problem.ts";
import type { Desk } from "../route.ts";
import type { Managed } from "./tenant-access.ts";

type Subject = Pick<Managed, "id" | "entry">;

/** Throws `conflict` for a hostname of another tenant. `whole`: the effective document over the tenant's code. */
export async function checkNames({ env }: Desk, { id }: Subject, whole: TenantDocument): Promise<void> {
  for (const [at, hostname] of (whole.hostnames ?? []).entries()) {
    const owner = await directoryOf(env).hostname(hostname);
    if (owner !== null && owner !== id) throw taken(hostname, at);
  }
}

/** Claims all hostnames or none. Returns those that were not the tenant's before. */
export async function claimNames(desk: Desk, subject: Subject, whole: TenantDocument): Promise<readonly string[]> {
  await checkNames(desk, subject, whole);
  const { id, entry } = subject;
  const directory = directoryOf(desk.env);
  const claimed: string[] = [];
  for (const [at, hostname] of (whole.hostnames ?? []).entries()) {
    if ((await directory.hostname(hostname)) === id) continue;
    const owner = await directory.claimHostname(hostname, id);
    if (owner !== null) {
      await releaseNames(desk, subject, claimed);
      throw taken(hostname, at);
    }
    claimed.push(hostname);
  }
  // Marked before the tenant becomes private, so that unknown names are hidden by then. One that opens is unmarked only
  // after it did, in `announceNames`.
  if (entry && !entry.isPrivate && isPrivate(whole)) await directory.mark(id, { isPrivate: true });
  return claimed;
}

export async function releaseNames({ env }: Desk, { id }: Subject, hostnames: readonly string[]): Promise<void> {
  for (const hostname of hostnames) {
    await directoryOf(env).releaseHostname(hostname, id);
    forgetName(hostname);
  }
}

/** Returns when no isolate believes any more what was before, in milliseconds since the epoch; 0: at once. */
export async function announceNames(
  desk: Desk,
  subject: Subject,
  before: readonly string[],
  whole: TenantDocument,
): Promise<number> {
  const { id, entry } = subject;
  const left = before.filter((hostname) => !whole.hostnames?.includes(hostname));
  await releaseNames(desk, subject, left);
  for (const hostname of whole.hostnames ?? []) forgetName(hostname);
  if (entry && entry.isPrivate && !isPrivate(whole)) await directoryOf(desk.env).mark(id, { isPrivate: false });
  return left.length > 0 ? Date.now() + UNKNOWN_FOR_MS : 0;
}

function isPrivate({ mode = "open" }: TenantDocument): boolean {
  return mode !== "open";
}

function taken(hostname: string, at: number): ProblemError {
  return new ProblemError("conflict", {
    errors: [{ field: `hostnames.${at}`, rule: `${hostname} belongs to another tenant` }],
  });
}
