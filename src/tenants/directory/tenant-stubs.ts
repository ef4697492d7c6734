// The stubs of a tenant's two objects. Separate from placement.ts, which code in Node imports: Node does not have the
// platform's modules.

import { storageKey, type TenantStub } from "../object/tenant-uid.ts";
import { namespaceOf } from "./namespaces.ts";
import { tenantObjectOf, type TenantRef } from "./placement.ts";

export function tenantStubOf(env: object, tenant: TenantRef): TenantStub {
  return tenantObjectOf(namespaceOf(env, "TenantObject"), tenant.id, tenant);
}

/** The name of a content object has the tenant's uid, so another tenant with the same id has another object. */
export function contentStubOf(env: object, tenant: TenantRef): TenantStub {
  return tenantObjectOf(namespaceOf(env, "ContentObject"), storageKey(tenant.id, tenant.uid), tenant);
}
