// The admin API's half of the lease rule: a withdrawal is acknowledged once no isolate serves the previous state.

import { createChangeClient } from "../../tenants/object/change-rpc.ts";
import type { TenantStub } from "../../tenants/object/tenant-uid.ts";
import { ProblemError } from "../problem.ts";

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
    detail: "It is in force for every request; streams that are open may not have ended yet. Try again",
  });
}

/** ISO 8601. null stays null: there is no such time. */
export function isoTime(milliseconds: number): string;
export function isoTime(milliseconds: number | null): string | null;
export function isoTime(milliseconds: number | null): string | null {
  return milliseconds === null ? null : new Date(milliseconds).toISOString();
}
