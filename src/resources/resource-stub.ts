// Owns how a Worker reaches the object that keeps a tenant's content. It has the tenant's incarnation in its name, so
// another tenant of the same id has another object.

import { storageKey, type TenantStub } from "../tenants/object/tenant-uid.ts";
import { namespaceOf } from "../tenants/directory/namespaces.ts";
import { tenantObjectOf, type TenantRef } from "../tenants/directory/placement.ts";

export function contentStubOf(env: object, ref: TenantRef): TenantStub {
  return tenantObjectOf(namespaceOf(env, "ContentObject"), storageKey(ref.id, ref.uid), ref);
}
