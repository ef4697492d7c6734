// Owns the admin half of the lease rule: a withdrawal is acknowledged when no isolate serves what was before.

import { createChangeClient } from "../../tenants/object/change-rpc.ts";
import type { TenantStub } from "../../tenants/object/tenant-uid.ts";
import { ProblemError } from "../problem.ts";

/**
 * When what an object measured to take so much longer is over, by the clock of this machine: the object's may be ahead of it or
 * behind. To be called when the answer has come. Milliseconds.
 */
export function deadlineFrom(leftMs: number): number {
  return Date.now() + leftMs;
}

/** Waits until `effectiveAt`, as `fromNow` gives it: then every lease from before it has ended. */
export async function waitForLeases(effectiveAt: number): Promise<void> {
  const remainingMs = effectiveAt - Date.now();
  if (remainingMs > 0) await scheduler.wait(remainingMs);
}

const STREAMS_CLOSE_TIMEOUT_MS = 12_000;

/**
 * Waits until the streams that a withdrawal ends have ended, also those whose hub was just reset and who were away from
 * it. false: a hub cannot be reached, and nobody knows.
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

/** Throws `busy` where nobody knows whether they have. */
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
