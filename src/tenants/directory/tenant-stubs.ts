// Separate from placement.ts, which code in Node imports: Node does not have the platform's modules.

import type { TenantStub } from "../object/tenant-uid.ts";
import { namespaceOf } from "./namespaces.ts";
import { tenantObjectOf, type TenantRef } from "./placement.ts";

export function stubOf(env: object, tenant: TenantRef): TenantStub {
  return tenantObjectOf(namespaceOf(env, "TenantObject"), tenant.id, tenant);
}
