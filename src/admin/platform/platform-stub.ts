// The stub of the platform object. MCP requests never use it; an operator's request fails with `busy` while the
// object is unavailable.

import { withTimeoutOrBusy } from "../../tenants/cache/with-timeout.ts";
import { namespaceOf } from "../../tenants/directory/namespaces.ts";
import { createTenantStub, ANY_UID, type TenantStub } from "../../tenants/object/tenant-uid.ts";

/** All operators in all locations call this one object, so the timeout is long. */
const PLATFORM_TIMEOUT_MS = 20_000;

export function platformStubOf(env: object): TenantStub {
  const object = () => namespaceOf(env, "PlatformObject").getByName("platform");
  const stub = createTenantStub(object, ANY_UID);
  return { call: (...rpcCall) => withTimeoutOrBusy(stub.call(...rpcCall), PLATFORM_TIMEOUT_MS) };
}
