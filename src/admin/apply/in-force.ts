// Owns the admin half of the lease rule: a withdrawal is acknowledged when no isolate serves what was before, and no copy
// of it lies in KV. An isolate that is cut off from the tenant's object may serve it longer, if the tenant chose that for
// outages: then the answer says so.

import { remoteChanges } from "../../tenants/authority/remote-changes.ts";
import type { TenantStub } from "../../tenants/authority/incarnation.ts";
import { DEFAULT_OUTAGE_SECONDS } from "../../tenants/document/tenant-document.ts";
import { onceASecond } from "../../tenants/authority/once-a-second.ts";
import { outageKey } from "../../tenants/isolate/outage.ts";
import { ProblemError } from "../problem.ts";
import type { AdminEnv, AdminOptions, MetTenant } from "../route.ts";
import { inLanes } from "./lanes.ts";

/**
 * When what an object measured to take so much longer is over, by the clock of this machine: the object's may be ahead of it or
 * behind. To be called when the answer has come. Milliseconds; null stays null.
 */
export function fromNow(leftMs: number): number;
export function fromNow(leftMs: number | null): number | null;
export function fromNow(leftMs: number | null): number | null {
  return leftMs === null ? null : Date.now() + leftMs;
}

/** Waits until `effectiveAt`, as `fromNow` gives it: then every lease from before it has ended. */
export async function untilInForce(effectiveAt: number): Promise<void> {
  const left = effectiveAt - Date.now();
  if (left > 0) await scheduler.wait(left);
}

const TOLD_WITHIN_MS = 12_000;

/**
 * Waits until the streams that a withdrawal ends have ended, also those whose hub was just reset and who were away from
 * it. false: a hub cannot be reached, and nobody knows.
 */
async function untilTold(stub: TenantStub): Promise<boolean> {
  const until = Date.now() + TOLD_WITHIN_MS;
  let left = await remoteChanges(stub).told();
  while (left > 0 && Date.now() < until) {
    await scheduler.wait(left);
    left = await remoteChanges(stub).told();
  }
  return left === 0;
}

/** Throws `busy` where nobody knows whether they have. */
export async function expectTold(stub: TenantStub): Promise<void> {
  if (await untilTold(stub)) return;
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

/** What an answer says of isolates that are cut off: nothing where they serve no longer than any tenant's do. */
export interface Staleness {
  readonly staleUntil?: string;
}

type Where = { readonly env: AdminEnv; readonly options: AdminOptions };

/** The tenant, and until when it may be served, as `fromNow` gives it; null: it did not choose so. */
export type Stale = readonly [tenant: { readonly id: string } & Pick<MetTenant, "entry">, staleUntil: number | null];

/** Deletes copies after a withdrawal is in force. */
export async function endStale(
  { env, options }: Where,
  effectiveAt: number,
  tenants: readonly Stale[],
): Promise<Staleness> {
  const ends = await inLanes(tenants, async ([{ id, entry }, until]) => {
    if (until === null) return 0;
    try {
      await onceASecond(() => env.BODIES.delete(outageKey(id, entry?.created)));
      return until > effectiveAt + DEFAULT_OUTAGE_SECONDS * 1000 ? until : 0;
    } catch (error) {
      // The withdrawal is in force all the same, and the copy says itself until when it may be served.
      options.onError?.(error);
      return until;
    }
  });
  const last = Math.max(0, ...ends);
  return last > 0 ? { staleUntil: new Date(last).toISOString() } : {};
}
