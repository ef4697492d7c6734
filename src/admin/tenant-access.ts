// Owns how the admin API reaches a tenant: whether it exists, the object that is its authority, and its record. Refuses
// the isolate's memory of who exists: an operator sees the directory as it is.

import { contentTables, type RemoteContent } from "../content/tables.ts";
import type { NewResource } from "../content/store.ts";
import { managedTenant, type Tenant } from "../tenants/definition.ts";
import { directoryOf } from "../tenants/directory.ts";
import type { DirectoryEntry } from "../tenants/directory-object.ts";
import type { TenantRecord } from "../tenants/policy-records.ts";
import { policyTables, type PolicyMethods } from "../tenants/policy-tables.ts";
import { remote, type Remote, type TenantStub } from "../tenants/tables.ts";
import { notFound, ProblemError } from "./problem.ts";
import type { AdminEnv, Desk } from "./route.ts";

export interface Managed {
  readonly id: string;
  readonly tenant: Tenant<NewResource>;
  /** null: declared in code. */
  readonly entry: DirectoryEntry | null;
  readonly policy: Remote<PolicyMethods>;
  readonly content: RemoteContent;
}

/** Where a tenant's object is: its jurisdiction is part of which object it is, its region only says where it is made. */
export type Placement = Pick<DirectoryEntry, "jurisdiction" | "region">;

export function stubOf(env: AdminEnv, id: string, { jurisdiction, region }: Placement): TenantStub {
  const objects =
    jurisdiction === null ? env.TENANTS : env.TENANTS.jurisdiction(jurisdiction as DurableObjectJurisdiction);
  const near = region === null ? {} : { locationHint: region as DurableObjectLocationHint };
  return objects.getByName(id, near) as unknown as TenantStub;
}

const ANYWHERE: Placement = { jurisdiction: null, region: null };

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

/** Whatever its state. */
export async function lookUpTenant(desk: Desk, id: string): Promise<Managed> {
  if (desk.options.tenants.has(id)) return managedOf(desk, id, null);
  const { entry } = await directoryOf(desk.env).lookup(id);
  if (!entry) throw notFound(`tenant ${id}`);
  return managedOf(desk, id, entry);
}

/** One that can be worked with. */
export async function findTenant(desk: Desk, id: string): Promise<Managed> {
  const managed = await lookUpTenant(desk, id);
  if (managed.entry?.state === "deleting") {
    throw new ProblemError("conflict", { detail: `The tenant ${id} is being deleted` });
  }
  return managed;
}

export async function readRecord({ id, entry, policy }: Managed): Promise<TenantRecord> {
  const record = await policy.read(entry === null);
  if (!record) throw notFound(`tenant ${id}`);
  return record;
}
