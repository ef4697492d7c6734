// The authority of a tenant. Apart from placement.ts, which code in Node imports: there the platform's modules are not.

import type { TenantStub } from "../object/tenant-uid.ts";
import { namespaceOf } from "./namespaces.ts";
import { tenantObjectOf, type TenantRef } from "./placement.ts";

export function stubOf(env: object, tenant: TenantRef): TenantStub {
  return tenantObjectOf(namespaceOf(env, "TenantObject"), tenant.id, tenant);
}
