import type { WriteResult } from "../../tenants/object/policy-records.ts";
import type { AdminContext, RouteResponse } from "../route.ts";
import { requireStreamsClosed, deadlineFrom, isoTime, waitForLeases } from "./propagation.ts";
import { requireTenantRecord, type TenantHandle } from "./tenant-handle.ts";

/**
 * Answers a withdrawal or its reversal, once it is in effect in every isolate. Waits even if nothing changed: the
 * answer to an earlier try may have been lost. `context`: pass for a withdrawal, which also waits until open streams
 * have ended.
 */
export async function confirmWithdrawal(
  handle: TenantHandle,
  write: WriteResult,
  context?: AdminContext,
): Promise<RouteResponse> {
  const changed = write.state === "written";
  const { revision } = write.state === "absent" ? await requireTenantRecord(handle) : write;
  const effectiveAt = deadlineFrom(changed ? write.leftMs : await handle.policy.leftMs());
  await waitForLeases(effectiveAt);
  if (context) await requireStreamsClosed(handle.stub());
  return { body: { revision, changed, effectiveAt: isoTime(effectiveAt) } };
}
