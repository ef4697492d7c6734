// Owns how the admin API reaches a tenant: whether it exists, the object that is its authority, and its record. Refuses
// the isolate's memory of who exists: an operator sees the directory as it is.

import { contentStubOf } from "../../content/store/content-door.ts";
import { contentTables, type RemoteContent } from "../../content/store/content-tables.ts";
import { editOutbox, type RemoteOutbox } from "../../content/store/edit-outbox.ts";
import type { NewResource } from "../../calls/resource-store.ts";
import { managedTenant, type Tenant as Declared } from "../../tenants/document/tenant-definition.ts";
import { askedDirectory } from "./asked-directory.ts";
import type { DirectoryEntry, Lookup } from "../../tenants/directory/directory-object.ts";
import type { TenantRecord } from "../../tenants/authority/policy-records.ts";
import type { PolicyMethods } from "../../tenants/authority/policy-calls.ts";
import { policyTables } from "../../tenants/authority/policy-tables.ts";
import { ANYWHERE } from "../../tenants/directory/placement.ts";
import { stubOf } from "../../tenants/directory/tenant-stub.ts";
import { keptUnder, WHOEVER, type TenantStub } from "../../tenants/authority/incarnation.ts";
import { remote, type Remote } from "../../tenants/authority/tables.ts";
import { declaredIn } from "./declared-tenants.ts";
import type { TenantShape, Infer } from "../contract.ts";
import { notFound, ProblemError } from "../problem.ts";
import type { Desk, MetTenant } from "../route.ts";

/** One tenant of a name: what is called through this is refused by any other. */
export interface Managed extends MetTenant {
  readonly id: string;
  readonly tenant: Declared<NewResource>;
  /** What stands for it in the names of what is kept outside of its authority. */
  readonly kept: string;
  readonly policy: Remote<PolicyMethods>;
  readonly content: RemoteContent;
  /** Audit entries of edits that are still on their way. */
  readonly edits: RemoteOutbox;
  readonly stub: () => TenantStub;
}

/** In the contract's types, which hold because the directory has only what came in through the contract. */
export function placementOf({
  entry,
}: Pick<Managed, "entry">): Pick<Infer<typeof TenantShape>, "region" | "jurisdiction"> {
  const { region, jurisdiction } = entry ?? ANYWHERE;
  return { region, jurisdiction } as ReturnType<typeof placementOf>;
}

type Place = Pick<Desk, "env" | "options">;

export function managedOf(
  { env, options }: Place,
  id: string,
  { entry, created, declared, isGone = false }: MetTenant,
): Managed {
  const meant = { id, placement: entry ?? ANYWHERE, incarnation: created };
  const stub = () => stubOf(env, meant);
  const content = contentStubOf(env, meant);
  return {
    id,
    tenant: declared ?? options.tenants.get(id) ?? managedTenant(id),
    entry,
    created,
    isGone,
    kept: keptUnder(id, created),
    policy: remote(stub(), policyTables),
    content: remote(content, contentTables),
    edits: remote(content, editOutbox),
    stub,
  };
}

/** Whichever tenant has the name, for what is said to all of them. */
export function anyOf({ env }: Pick<Place, "env">, id: string, entry: DirectoryEntry | null): Remote<PolicyMethods> {
  return remote(stubOf(env, { id, placement: entry ?? ANYWHERE, incarnation: WHOEVER }), policyTables);
}

/** Which tenant has the name now, in whatever state. Throws `not-found`. */
export async function meetTenant(place: Place, id: string): Promise<MetTenant> {
  const { entry, declared } = await namedBy(place, id);
  if (entry) return { entry, created: entry.created };
  const isGone = !declared && !place.options.tenants.has(id);
  if (isGone && !(place.options.asked && (await askedDirectory(place.env, id).isDeclared(id))))
    throw notFound(`tenant ${id}`);
  const created = await anyOf(place, id, null).incarnation(true);
  return { entry: null, created: created ?? "", declared, isGone };
}

/** Who has the name: a tenant in code, one that was made, or, of those that are left, one of the author's function. */
export async function namedBy(place: Place, id: string): Promise<Pick<MetTenant, "entry" | "declared">> {
  const inCode = place.options.tenants.get(id);
  const { entry } = inCode ? { entry: null } : await lookedUpIn(place, id);
  return { entry, declared: entry ? undefined : await declaredIn(place, id) };
}

function lookedUpIn({ env }: Place, id: string): Promise<Lookup> {
  return askedDirectory(env, id).lookup(id);
}

/** The tenant that the request means, or, where its path names none, the one that has the name now. */
export async function lookUpTenant(desk: Desk, id: string): Promise<Managed> {
  return managedOf(desk, id, await (desk.met ?? meetTenant(desk, id)));
}

/** A tenant that is there, and not being deleted. Throws `not-found` or `conflict`. */
export async function findManaged(desk: Desk, id: string): Promise<Managed> {
  const managed = await lookUpTenant(desk, id);
  if (managed.isGone) throw notFound(`tenant ${id}`);
  if (managed.entry?.state === "deleting") {
    throw new ProblemError("conflict", { detail: `The tenant ${id} is being deleted` });
  }
  return managed;
}

/** The tenant's record, which this makes for a tenant in code that has none yet. Throws `not-found`. */
export async function readRecord({ id, entry, policy }: Managed): Promise<TenantRecord> {
  const record = await policy.read(entry === null);
  if (!record) throw notFound(`tenant ${id}`);
  return record;
}
