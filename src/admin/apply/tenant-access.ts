// Owns how the admin API reaches a tenant: whether it exists, the object that is its authority, and its record. Refuses
// the isolate's memory of who exists: an operator sees the directory as it is.

import { contentTables, type RemoteContent } from "../../content/store/content-tables.ts";
import type { NewResource } from "../../calls/resource-store.ts";
import { managedTenant, type Tenant as Declared } from "../../tenants/document/tenant-definition.ts";
import { directoryOf } from "../../tenants/directory/directory.ts";
import type { DirectoryEntry } from "../../tenants/directory/directory-object.ts";
import type { TenantRecord } from "../../tenants/authority/policy-records.ts";
import { policyTables, type PolicyMethods } from "../../tenants/authority/policy-tables.ts";
import { ANYWHERE, stubOf } from "../../tenants/directory/placement.ts";
import { remote, type Remote } from "../../tenants/authority/tables.ts";
import type { TenantShape, Infer } from "../contract.ts";
import { notFound, ProblemError } from "../problem.ts";
import type { Desk } from "../route.ts";

export interface Managed {
  readonly id: string;
  readonly tenant: Declared<NewResource>;
  /** null: declared in code. */
  readonly entry: DirectoryEntry | null;
  readonly policy: Remote<PolicyMethods>;
  readonly content: RemoteContent;
}

/** In the contract's types, which hold because the directory has only what came in through the contract. */
export function placementOf({
  entry,
}: Pick<Managed, "entry">): Pick<Infer<typeof TenantShape>, "region" | "jurisdiction"> {
  const { region, jurisdiction } = entry ?? ANYWHERE;
  return { region, jurisdiction } as ReturnType<typeof placementOf>;
}

export function managedOf({ env, options }: Desk, id: string, entry: DirectoryEntry | null): Managed {
  const stub = stubOf(env, id, entry ?? ANYWHERE);
  return {
    id,
    tenant: options.tenants.get(id) ?? managedTenant(id),
    entry,
    policy: remote(stub, policyTables),
    content: remote(stub, contentTables),
  };
}

/** A tenant in any state. Throws `not-found`. */
export async function lookUpTenant(desk: Desk, id: string): Promise<Managed> {
  if (desk.options.tenants.has(id)) return managedOf(desk, id, null);
  const { entry } = await directoryOf(desk.env).lookup(id);
  if (!entry) throw notFound(`tenant ${id}`);
  return managedOf(desk, id, entry);
}

/** A tenant that is not being deleted. Throws `not-found` or `conflict`. */
export async function findManaged(desk: Desk, id: string): Promise<Managed> {
  const managed = await lookUpTenant(desk, id);
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
