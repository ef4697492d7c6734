// Owns which Durable Object is a tenant's authority: its name, and where it was placed when it was made.

import type { TenantStub } from "../authority/tables.ts";

/** Another jurisdiction is another object. The region only says where an object is made, when it is first asked for. */
export interface Placement {
  readonly jurisdiction: string | null;
  readonly region: string | null;
}

/** The placement of tenants in code, and of those that asked for none. */
export const ANYWHERE: Placement = { jurisdiction: null, region: null };

/** The objects of a binding in this jurisdiction. Throws where the platform does not have it. */
export function objectsIn<T extends Rpc.DurableObjectBranded | undefined>(
  objects: DurableObjectNamespace<T>,
  jurisdiction: string | null,
): DurableObjectNamespace<T> {
  return jurisdiction === null ? objects : objects.jurisdiction(jurisdiction as DurableObjectJurisdiction);
}

/** The authority of a tenant. */
export function stubOf(
  env: { readonly TENANTS: DurableObjectNamespace },
  id: string,
  { jurisdiction, region }: Placement,
): TenantStub {
  const near = region === null ? {} : { locationHint: region as DurableObjectLocationHint };
  return objectsIn(env.TENANTS, jurisdiction).getByName(id, near) as unknown as TenantStub;
}
