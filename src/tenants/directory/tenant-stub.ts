// The authority of a tenant. Apart from placement.ts, which code in Node imports: there the platform's modules are not.

import type { TenantStub } from "../authority/incarnation.ts";
import { namespaceOf } from "./namespaces.ts";
import { keeperOf, type Meant } from "./placement.ts";

export function stubOf(env: object, meant: Meant): TenantStub {
  return keeperOf(namespaceOf(env, "TenantObject"), meant.id, meant);
}
