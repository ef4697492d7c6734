// Checks which tenant of its name a call to a tenant object means, and answers calls if there is no tenant.

import type { LeaseRequest } from "./policy-records.ts";
import { ANY_UID, type TenantUid, type RpcResult, type RpcRefusal } from "./tenant-uid.ts";
import type { TenantHost } from "./tenant-host.ts";

/**
 * Answers calls to a name without a tenant, because any caller may try any name. The first lease creates a tenant in
 * code.
 */
export function answerAbsentTenant(method: string, request: unknown, uid: TenantUid): RpcResult | undefined {
  if (uid !== ANY_UID) return { gone: true };
  if (method === "policy.lease" && !(request as LeaseRequest).inCode) return { value: { state: "absent" } };
  return method === "policy.changed" ? { value: 0 } : undefined;
}

/**
 * Rejects calls for any other tenant than the one here. Methods of the deletion may also mean the tenant that is ending
 * here, or one that was never created.
 */
export function rejectOtherTenant(host: TenantHost, uid: TenantUid, isEnding: boolean): RpcRefusal | undefined {
  if (uid === ANY_UID) return undefined;
  const current = host.created();
  if (uid === current) return undefined;
  const isEnded = isEnding && current === undefined && (host.deletion.closingUid() ?? uid) === uid;
  return isEnded ? undefined : { gone: true };
}
