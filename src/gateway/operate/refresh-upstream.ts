// Owns reading an upstream because an operator wants it now. There is one reader at a time: who comes second waits for the
// first and has what that one found. Refuses to wait longer than a reader may take.

import type { UpstreamContext } from "../../deployment/deployment.ts";
import { AppError } from "../../protocol/app-error.ts";
import { createRpcClient } from "../../tenants/authority/tables.ts";
import { CLAIM_MS, gatewayStore } from "../gateway-tables.ts";
import { catalogReads } from "../guard/crowd.ts";
import type { Services } from "../guard/service-binding.ts";
import { startUpstreamRefresh, createRefreshClaim } from "../tend-upstreams.ts";
import { configOf } from "../upstream-config.ts";

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
  return waitForOtherReader(context, id, configOf(upstream));
}

/** For who waits for it. Throws where so much is read that there is none. */
export async function acquireReadSlot(tenant: string): Promise<() => void> {
  const release = await catalogReads.acquireWithin(tenant, SLOT_TIMEOUT_MS);
  if (release) return release;
  const message = "Temporarily unavailable: too many upstreams are being read, try again";
  throw new AppError("busy", { message, retryAfter: 5 });
}

async function waitForOtherReader({ stub }: UpstreamContext, id: string, config: string): Promise<boolean> {
  for (const end = Date.now() + CLAIM_MS; Date.now() < end; await sleep()) {
    const reading = (await createRpcClient(stub(), gatewayStore).getRefreshStates()).find((one) => one.id === id);
    if (reading?.config !== config) return false;
    if (reading.claimedUntil <= Date.now()) return true;
  }
  return true;
}

function sleep(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, POLL_MS);
  });
}
