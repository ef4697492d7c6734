// Owns which Durable Object of a binding is a tenant's: its name, and where it was placed when it was made.

import { createTenantStub, type TenantUid, type TenantStub } from "../object/tenant-uid.ts";

/** Another jurisdiction is another object. The region only says where an object is made, when it is first asked for. */
export interface Placement {
  readonly jurisdiction: string | null;
  readonly region: string | null;
  /** As the directory entered the tenant; absent for one in code. */
  readonly created?: TenantUid;
}

/** The placement of tenants in code, and of those that asked for none. */
export const DEFAULT_PLACEMENT: Placement = { jurisdiction: null, region: null };

/** Where KV has the placement of a tenant that the directory knows: it is read in the place of the directory. */
export function placementKey(id: string): string {
  return `placement/${id}`;
}

/** The objects of a binding in this jurisdiction. Throws where the platform does not have it. */
export function objectsIn<T extends Rpc.DurableObjectBranded | undefined>(
  objects: DurableObjectNamespace<T>,
  jurisdiction: string | null,
): DurableObjectNamespace<T> {
  return jurisdiction === null ? objects : objects.jurisdiction(jurisdiction as DurableObjectJurisdiction);
}

/** A tenant, as its objects are asked for it. */
export interface TenantRef {
  readonly id: string;
  readonly placement: Placement;
  readonly uid: TenantUid;
}

/** One of the tenant's objects, by its name among those of the binding. */
export function tenantObjectOf(
  objects: DurableObjectNamespace,
  name: string,
  { placement: { jurisdiction, region }, uid }: TenantRef,
): TenantStub {
  const options = region === null ? undefined : { locationHint: region as DurableObjectLocationHint };
  const getObject = () => objectsIn(objects, jurisdiction).getByName(name, options);
  return createTenantStub(getObject, uid);
}
