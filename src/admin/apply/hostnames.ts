// Owns what the directory says about a tenant beside its id: hostnames, which belong to one tenant only. Claimed before a
// document is written, released after it. The tenant's object decides what its document says, and this follows: nothing is given back that a write may name which was begun, and what nobody names any more is found later.

import { AppError } from "../../protocol/app-error.ts";
import { isGone } from "../../tenants/authority/incarnation.ts";
import type { TenantRecord } from "../../tenants/authority/policy-records.ts";
import type { Claimed, Named } from "../../tenants/directory/directory-object.ts";
import { mergeDocuments, type TenantDocument } from "../../tenants/document/tenant-document.ts";
import { forgetName, NAME_FOR_MS } from "../../tenants/directory/directory.ts";
import { askedDirectory, releaseAgain } from "./asked-directory.ts";
import { hostAllowed, hostnameOf } from "../../auth/origin.ts";
import { idInHostname, isWorkersOwn } from "../../tenants/directory/worker-hosts.ts";
import { invalidFields, ProblemError } from "../problem.ts";
import type { Desk } from "../route.ts";
import { findLeft } from "./left-hostnames.ts";
import type { Managed } from "./tenant-access.ts";

type Subject = Pick<Managed, "id" | "entry">;

/** What a write replaces. Of a tenant that is being made: nothing, revision 0. */
export type Replaced = Pick<TenantRecord, "revision" | "effective">;

function namedAs({ id, entry }: Subject): Named {
  return { id, created: entry?.created ?? null };
}

/**
 * Throws `conflict` for a hostname of another tenant, and refuses those that are the Worker's. `whole`: the effective document
 * over the tenant's code. What is the tenant's already was let pass when it was claimed.
 */
export async function checkNames(desk: Desk, { id }: Subject, whole: TenantDocument): Promise<void> {
  for (const [at, hostname] of (whole.hostnames ?? []).entries()) {
    const owner = await askedDirectory(desk.env, hostname).hostname(hostname);
    if (owner === id) continue;
    const rule = unfitting(desk, hostname);
    if (rule !== undefined) throw invalidFields([`hostnames.${at}`, rule]);
    if (owner !== null && !(await findLeft(desk, hostname))) throw taken(hostname, at);
  }
}

/**
 * Why no tenant can have it. By whichever name an operator comes, they cannot give that one away. `HOSTS` lists the Worker's names and
 * those of tenants, and who may deploy knows which is which.
 */
function unfitting({ env, request, caller }: Desk, hostname: string): string | undefined {
  if (env.HOSTS && caller.role !== "owner" && hostAllowed(new Headers({ host: hostname }), env)) {
    return `HOSTS lists ${hostname}: only an owner may give it to a tenant`;
  }
  if (idInHostname(hostname, env) !== undefined) {
    return `under ${env.TENANT_HOST} each tenant has the hostname that begins with its id`;
  }
  const asked = [request.headers.get("host") ?? "", new URL(request.url).host].map(hostnameOf);
  return isWorkersOwn(hostname, env) || asked.includes(hostname) ? `${hostname} is the Worker's own` : undefined;
}

/** Claims all hostnames or none, for a write that replaces `before`: where it is not made, `giveBack` is told. */
export async function claimNames(desk: Desk, subject: Managed, whole: TenantDocument, before: Replaced): Promise<void> {
  await checkNames(desk, subject, whole);
  for (const [at, hostname] of (whole.hostnames ?? []).entries()) {
    const done = await claim(desk, subject, hostname, before.revision);
    if (done === "claimed" || done === "kept") continue;
    await giveBack(desk, subject, { ...whole, hostnames: whole.hostnames?.slice(0, at) ?? [] }, before);
    throw done === "taken" ? taken(hostname, at) : new AppError("unknownTenant");
  }
}

async function claim(desk: Desk, subject: Subject, hostname: string, basis: number): Promise<Claimed> {
  const directory = askedDirectory(desk.env, hostname);
  const first = await directory.claimHostname(hostname, namedAs(subject), basis);
  const free = first === "taken" ? await findLeft(desk, hostname) : undefined;
  if (!free) return first;
  await free();
  return directory.claimHostname(hostname, namedAs(subject), basis);
}
/** A write that wanted these names was not made: what the tenant's document does not name is free again. */
export async function giveBack(desk: Desk, subject: Managed, wanted: TenantDocument, before: Replaced): Promise<void> {
  if (!wanted.hostnames?.length) return;
  const { entry, tenant, policy } = subject;
  // One that ends takes with it what it has.
  const record = await policy.read(entry === null).catch(ifGone);
  const { revision = 0, effective = {} } = record ?? {};
  const is = mergeDocuments([tenant.base, effective]);
  for (const hostname of without(wanted, is))
    await askedDirectory(desk.env, hostname).releaseHostname(hostname, namedAs(subject), revision, before.revision);
}

/** The hostnames of a document that another one does not have. */
function without({ hostnames = [] }: TenantDocument, other: TenantDocument): readonly string[] {
  return hostnames.filter((hostname) => !other.hostnames?.includes(hostname));
}

function ifGone(error: unknown): undefined {
  if (!isGone(error)) throw error;
}

/** A tenant comes to its end, and nothing it was to be can be written any more. */
export async function releaseNames({ env }: Desk, subject: Subject, hostnames: readonly string[]): Promise<void> {
  for (const hostname of hostnames) {
    await releaseAgain(env, hostname, namedAs(subject));
    forgetName(hostname);
  }
}

/** `revision`: that of `whole`. Returns when no isolate believes any more what was before, in milliseconds since the epoch; 0: at once. */
export async function announceNames(
  desk: Desk,
  subject: Subject,
  before: Replaced,
  { whole, revision }: { readonly whole: TenantDocument; readonly revision: number },
): Promise<number> {
  const left = without(before.effective, whole);
  for (const hostname of left) await releaseAgain(desk.env, hostname, namedAs(subject), revision);
  for (const hostname of [...left, ...(whole.hostnames ?? [])]) forgetName(hostname);
  return left.length > 0 ? Date.now() + NAME_FOR_MS : 0;
}

function taken(hostname: string, at: number): ProblemError {
  return new ProblemError("conflict", {
    errors: [{ field: `hostnames.${at}`, rule: `${hostname} belongs to another tenant` }],
  });
}
