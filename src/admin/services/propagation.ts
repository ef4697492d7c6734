// The admin API's half of the lease rule: a withdrawal is acknowledged once no isolate serves the previous state.

import { createChangeClient } from "../../tenants/object/change-rpc.ts";
import type { TenantStub } from "../../tenants/object/tenant-uid.ts";
import type { WriteResult } from "../../tenants/object/policy-records.ts";
import { ProblemError } from "../problem.ts";
import type { AdminContext, RouteResponse } from "../route.ts";
import { requireTenantRecord, type TenantHandle } from "./tenant-handle.ts";

/**
 * Converts the remaining time that an object measured to a deadline on this machine's clock, in milliseconds. Clocks
 * differ, so call this when the answer arrives.
 */
export function deadlineFrom(leftMs: number): number {
  return Date.now() + leftMs;
}

/** Waits until `effectiveAt`, as `deadlineFrom` returns it. All earlier leases have expired by then. */
export async function waitForLeases(effectiveAt: number): Promise<void> {
  const remainingMs = effectiveAt - Date.now();
  if (remainingMs > 0) await scheduler.wait(remainingMs);
}

const STREAMS_CLOSE_TIMEOUT_MS = 12_000;

/**
 * Waits until the streams that a withdrawal ends have closed, including streams that lost a hub that was just reset.
 * false: a hub cannot be reached, so the state is unknown.
 */
async function waitForStreamsClosed(stub: TenantStub): Promise<boolean> {
  const deadline = Date.now() + STREAMS_CLOSE_TIMEOUT_MS;
  let pendingMs = await createChangeClient(stub).pendingCloseMs();
  while (pendingMs > 0 && Date.now() < deadline) {
    await scheduler.wait(pendingMs);
    pendingMs = await createChangeClient(stub).pendingCloseMs();
  }
  return pendingMs === 0;
}

/** Throws `busy` if it is unknown whether the streams have closed. */
export async function requireStreamsClosed(stub: TenantStub): Promise<void> {
  if (await waitForStreamsClosed(stub)) return;
  throw new ProblemError("busy", {
    detail: "The change is in effect for every request, but open streams may not have ended yet. Try again",
  });
}

/** ISO 8601. null stays null: there is no such time. */
export function isoTime(milliseconds: number): string;
export function isoTime(milliseconds: number | null): string | null;
export function isoTime(milliseconds: number | null): string | null {
  return milliseconds === null ? null : new Date(milliseconds).toISOString();
}

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
