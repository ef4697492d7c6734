// The Durable Objects of a tenant: their names, and where they were placed at creation.

import { createTenantStub, type TenantUid, type TenantStub } from "../object/tenant-uid.ts";

/**
 * Another jurisdiction means another object. The region is only a hint for where an object is created at its first use.
 */
export interface Placement {
  readonly jurisdiction: string | null;
  readonly region: string | null;
  /** The uid in the directory; absent for a tenant in code. */
  readonly created?: TenantUid;
}

/** The placement of tenants in code, and of tenants that requested none. */
export const DEFAULT_PLACEMENT: Placement = { jurisdiction: null, region: null };

/** The KV key of a tenant's placement. Isolates read it instead of the directory. */
export function placementKey(id: string): string {
  return `placement/${id}`;
}

/** The objects of a binding in this jurisdiction. Throws if the platform does not have it. */
export function objectsIn<T extends Rpc.DurableObjectBranded | undefined>(
  objects: DurableObjectNamespace<T>,
  jurisdiction: string | null,
): DurableObjectNamespace<T> {
  return jurisdiction === null ? objects : objects.jurisdiction(jurisdiction as DurableObjectJurisdiction);
}

/** The parts of a tenant's identity that calls to its objects need. */
export interface TenantRef {
  readonly id: string;
  readonly placement: Placement;
  readonly uid: TenantUid;
}

/** One of the tenant's objects, by its name in the binding. */
export function tenantObjectOf(
  objects: DurableObjectNamespace,
  name: string,
  { placement: { jurisdiction, region }, uid }: TenantRef,
): TenantStub {
  const options = region === null ? undefined : { locationHint: region as DurableObjectLocationHint };
  const getObject = () => objectsIn(objects, jurisdiction).getByName(name, options);
  return createTenantStub(getObject, uid);
}
