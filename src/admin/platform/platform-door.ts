// The way to the platform's object. No request of a client takes it; an operator's is `busy` while the object is away.

import { reached } from "../../tenants/isolate/in-time.ts";
import { namespaceOf } from "../../tenants/directory/namespaces.ts";
import { meaning, WHOEVER, type TenantStub } from "../../tenants/authority/incarnation.ts";

/** Every operator of the world asks this one object. */
const ANSWERED_WITHIN_MS = 20_000;

export function platformOf(env: object): TenantStub {
  const keeper = () => namespaceOf(env, "PlatformObject").getByName("platform");
  const stub = meaning(keeper, WHOEVER);
  return { call: (...called) => reached(stub.call(...called), ANSWERED_WITHIN_MS) };
}
