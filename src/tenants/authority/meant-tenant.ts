// Which tenant of its name a call to a tenant's object means, and what is answered where there is none.

import type { LeaseAsk } from "./policy-records.ts";
import { WHOEVER, type Incarnation, type Ran, type Refused } from "./incarnation.ts";
import type { TenantHost } from "./tenant-host.ts";

/** Anybody may ask about any name. A tenant in code is made by its first lease. */
export function absentTenant(method: string, ask: unknown, meant: Incarnation): Ran | undefined {
  if (meant !== WHOEVER) return { gone: true };
  if (method === "policy.lease" && !(ask as LeaseAsk).inCode) return { value: { state: "absent" } };
  return method === "policy.changed" ? { value: 0 } : undefined;
}

/** All but the tenant that is here; for what belongs to its end, also the one that is ending here, or that was never made. */
export function refuseOthers(host: TenantHost, meant: Incarnation, isEnding: boolean): Refused | undefined {
  if (meant === WHOEVER) return undefined;
  const current = host.created();
  if (meant === current) return undefined;
  const isEnded = isEnding && current === undefined && (host.closure.ending() ?? meant) === meant;
  return isEnded ? undefined : { gone: true };
}
