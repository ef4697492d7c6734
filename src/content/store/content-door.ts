// Owns how a Worker reaches the object that keeps a tenant's content. It has the tenant's incarnation in its name, so
// another tenant of the same id has another object.

import { keptUnder, type TenantStub } from "../../tenants/authority/incarnation.ts";
import { namespaceOf } from "../../tenants/directory/namespaces.ts";
import { keeperOf, type Meant } from "../../tenants/directory/placement.ts";

export function contentStubOf(env: object, meant: Meant): TenantStub {
  return keeperOf(namespaceOf(env, "ContentObject"), keptUnder(meant.id, meant.incarnation), meant);
}
