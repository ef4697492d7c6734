// Refreshes an upstream at an operator's request. If another refresh is under way, waits for that one instead, at most
// as long as a claim lasts.

import type { UpstreamContext } from "../../deployment/deployment.ts";
import { AppError } from "../../protocol/app-error.ts";
import { createRpcClient } from "../../tenants/object/store.ts";
import { CLAIM_MS, gatewayStore } from "../gateway-store.ts";
import { catalogReads } from "../guard/fair-semaphore.ts";
import type { Services } from "../guard/service-binding.ts";
import { startUpstreamRefresh, createRefreshClaim } from "../refresh-scheduler.ts";
import { configHashOf } from "../upstream-config.ts";

const POLL_MS = 200;
const SLOT_TIMEOUT_MS = 10_000;

export async function refreshUpstream(context: UpstreamContext, id: string, services: Services): Promise<boolean> {
  const upstream = context.document.upstreams?.[id];
  if (!upstream) return false;
  const release = await acquireReadSlot(context.tenant);
  try {
    const request = { ...createRefreshClaim(context, services), claimId: crypto.randomUUID() };
    const isClaimed = await createRpcClient(context.stub(), gatewayStore).tryClaim(request, id, context.actor);
    if (isClaimed) {
      await startUpstreamRefresh({ id, upstream }, context);
      return true;
    }
  } finally {
    release();
  }
  return waitForOtherReader(context, id, configHashOf(upstream));
}

/** Throws an AppError if no slot becomes free in time. */
export async function acquireReadSlot(tenant: string): Promise<() => void> {
  const release = await catalogReads.acquireWithin(tenant, SLOT_TIMEOUT_MS);
  if (release) return release;
  const message = "Temporarily unavailable: too many upstreams are being read, try again";
  throw new AppError("busy", { message, retryAfter: 5 });
}

async function waitForOtherReader({ stub }: UpstreamContext, id: string, configHash: string): Promise<boolean> {
  for (const end = Date.now() + CLAIM_MS; Date.now() < end; await sleep()) {
    const reading = (await createRpcClient(stub(), gatewayStore).getRefreshStates()).find((one) => one.id === id);
    if (reading?.configHash !== configHash) return false;
    if (reading.claimedUntil <= Date.now()) return true;
  }
  return true;
}

function sleep(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, POLL_MS);
  });
}
