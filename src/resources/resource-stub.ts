// The stub of a tenant's content object. Its name has the tenant's uid, so another tenant with the same id has another
// object.

import { storageKey, type TenantStub } from "../tenants/object/tenant-uid.ts";
import { namespaceOf } from "../tenants/directory/namespaces.ts";
import { tenantObjectOf, type TenantRef } from "../tenants/directory/placement.ts";

export function contentStubOf(env: object, ref: TenantRef): TenantStub {
  return tenantObjectOf(namespaceOf(env, "ContentObject"), storageKey(ref.id, ref.uid), ref);
}
