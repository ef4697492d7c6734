// Owns which Durable Object is a tenant's authority: its name, and where it was placed when it was made.

import type { TenantStub } from "../authority/tables.ts";

/** The jurisdiction is part of which object it is; the region only says where it is made, by whoever asks it first. */
export interface Placement {
  readonly jurisdiction: string | null;
  readonly region: string | null;
}

/** Of tenants in code, and of those that did not say. */
export const ANYWHERE: Placement = { jurisdiction: null, region: null };

/** The objects of a binding that are kept where the tenant is. Throws where the platform does not have the jurisdiction. */
export function objectsIn<T extends Rpc.DurableObjectBranded | undefined>(
  objects: DurableObjectNamespace<T>,
  jurisdiction: string | null,
): DurableObjectNamespace<T> {
  return jurisdiction === null ? objects : objects.jurisdiction(jurisdiction as DurableObjectJurisdiction);
}

export function stubOf(
  env: { readonly TENANTS: DurableObjectNamespace },
  id: string,
  { jurisdiction, region }: Placement,
): TenantStub {
  const near = region === null ? {} : { locationHint: region as DurableObjectLocationHint };
  return objectsIn(env.TENANTS, jurisdiction).getByName(id, near) as unknown as TenantStub;
}
