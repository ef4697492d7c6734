// Owns what is answered when something of a tenant was ended or given back: when that is so everywhere.

import type { WriteResult } from "../../tenants/object/policy-records.ts";
import type { AdminContext, RouteResponse } from "../route.ts";
import { requireStreamsClosed, deadlineFrom, isoTime, waitForLeases } from "./propagation.ts";
import { requireRecord, type TenantHandle } from "./tenant-handle.ts";

/** Waits even if it was so already: the answer to an earlier try may have been lost. `desk`: for what takes something away. */
export async function confirmWithdrawal(
  handle: TenantHandle,
  write: WriteResult,
  context?: AdminContext,
): Promise<RouteResponse> {
  const changed = write.state === "written";
  const { revision } = write.state === "absent" ? await requireRecord(handle) : write;
  const effectiveAt = deadlineFrom(changed ? write.leftMs : await handle.policy.leftMs());
  await waitForLeases(effectiveAt);
  if (context) await requireStreamsClosed(handle.stub());
  return { body: { revision, changed, effectiveAt: isoTime(effectiveAt) } };
}
