// The way to the platform's object. No request of a client takes it; an operator's is `busy` while the object is away.

import { withTimeoutOrBusy } from "../../tenants/cache/with-timeout.ts";
import { namespaceOf } from "../../tenants/directory/namespaces.ts";
import { createTenantStub, ANY_UID, type TenantStub } from "../../tenants/object/tenant-uid.ts";

/** Every operator of the world asks this one object. */
const PLATFORM_TIMEOUT_MS = 20_000;

export function platformStubOf(env: object): TenantStub {
  const object = () => namespaceOf(env, "PlatformObject").getByName("platform");
  const stub = createTenantStub(object, ANY_UID);
  return { call: (...rpcCall) => withTimeoutOrBusy(stub.call(...rpcCall), PLATFORM_TIMEOUT_MS) };
}
