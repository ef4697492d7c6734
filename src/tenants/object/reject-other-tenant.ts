// Which tenant of its name a call to a tenant's object means, and what is answered where there is none.

import type { LeaseRequest } from "./policy-records.ts";
import { ANY_UID, type TenantUid, type RpcResult, type RpcRefusal } from "./tenant-uid.ts";
import type { TenantHost } from "./tenant-host.ts";

/** Anybody may ask about any name. A tenant in code is made by its first lease. */
export function answerAbsentTenant(method: string, request: unknown, uid: TenantUid): RpcResult | undefined {
  if (uid !== ANY_UID) return { gone: true };
  if (method === "policy.lease" && !(request as LeaseRequest).inCode) return { value: { state: "absent" } };
  return method === "policy.changed" ? { value: 0 } : undefined;
}

/** All but the tenant that is here; for what belongs to its end, also the one that is ending here, or that was never made. */
export function rejectOtherTenant(host: TenantHost, uid: TenantUid, isEnding: boolean): RpcRefusal | undefined {
  if (uid === ANY_UID) return undefined;
  const current = host.created();
  if (uid === current) return undefined;
  const isEnded = isEnding && current === undefined && (host.deletion.closingUid() ?? uid) === uid;
  return isEnded ? undefined : { gone: true };
}
