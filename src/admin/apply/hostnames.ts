// Owns what the directory says about a tenant beside its id: hostnames, which belong to one tenant only, and whether it
// is private. Claimed before a document is written, released after it.

import { AppError } from "../../protocol/app-error.ts";
import type { Named } from "../../tenants/directory/directory-object.ts";
import type { TenantDocument } from "../../tenants/document/tenant-document.ts";
import { directoryOf, forgetName, HOSTNAME_FOR_MS } from "../../tenants/directory/directory.ts";
import { hostnameOf } from "../../auth/origin.ts";
import { idInHostname, isWorkersOwn } from "../../tenants/directory/worker-hosts.ts";
import { invalidFields, ProblemError } from "../problem.ts";
import type { Desk } from "../route.ts";
import type { Managed } from "./tenant-access.ts";

type Subject = Pick<Managed, "id" | "entry">;

function namedAs({ id, entry }: Subject): Named {
  return { id, created: entry?.created ?? null };
}

/**
 * Throws `conflict` for a hostname of another tenant, and refuses those that are the Worker's. `whole`: the effective document
 * over the tenant's code. What is the tenant's already was let pass when it was claimed.
 */
export async function checkNames(desk: Desk, { id }: Subject, whole: TenantDocument): Promise<void> {
  for (const [at, hostname] of (whole.hostnames ?? []).entries()) {
    const owner = await directoryOf(desk.env, hostname).hostname(hostname);
    if (owner === id) continue;
    const rule = unfitting(desk, hostname);
    if (rule !== undefined) throw invalidFields([`hostnames.${at}`, rule]);
    if (owner !== null) throw taken(hostname, at);
  }
}

/** Why no tenant can have it. By whichever name an operator comes, they cannot give that one away. */
function unfitting({ env, request }: Desk, hostname: string): string | undefined {
  if (idInHostname(hostname, env) !== undefined) {
    return `under ${env.TENANT_HOST} each tenant has the hostname that begins with its id`;
  }
  const asked = [request.headers.get("host") ?? "", new URL(request.url).host].map(hostnameOf);
  return isWorkersOwn(hostname, env) || asked.includes(hostname) ? `${hostname} is the Worker's own` : undefined;
}

/** Claims all hostnames or none. Returns those that were not the tenant's before. */
export async function claimNames(desk: Desk, subject: Subject, whole: TenantDocument): Promise<readonly string[]> {
  await checkNames(desk, subject, whole);
  const { entry } = subject;
  const claimed: string[] = [];
  for (const [at, hostname] of (whole.hostnames ?? []).entries()) {
    const done = await directoryOf(desk.env, hostname).claimHostname(hostname, namedAs(subject));
    if (done === "kept") continue;
    if (done !== "claimed") {
      await releaseNames(desk, subject, claimed);
      throw done === "taken" ? taken(hostname, at) : new AppError("unknownTenant");
    }
    claimed.push(hostname);
  }
  // Marked before the tenant becomes private, so that unknown names are hidden by then. One that opens is unmarked only
  // after it did, in `announceNames`.
  if (entry && !entry.isPrivate && isPrivate(whole))
    await directoryOf(desk.env, entry.id).mark(namedAs(subject), { isPrivate: true });
  return claimed;
}

export async function releaseNames({ env }: Desk, subject: Subject, hostnames: readonly string[]): Promise<void> {
  for (const hostname of hostnames) {
    await directoryOf(env, hostname).releaseHostname(hostname, namedAs(subject));
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
  const { entry } = subject;
  const left = before.filter((hostname) => !whole.hostnames?.includes(hostname));
  await releaseNames(desk, subject, left);
  for (const hostname of whole.hostnames ?? []) forgetName(hostname);
  if (entry && entry.isPrivate && !isPrivate(whole))
    await directoryOf(desk.env, entry.id).mark(namedAs(subject), { isPrivate: false });
  return left.length > 0 ? Date.now() + HOSTNAME_FOR_MS : 0;
}

function isPrivate({ mode = "open" }: TenantDocument): boolean {
  return mode !== "open";
}

function taken(hostname: string, at: number): ProblemError {
  return new ProblemError("conflict", {
    errors: [{ field: `hostnames.${at}`, rule: `${hostname} belongs to another tenant` }],
  });
}
