// Owns reading an upstream because an operator wants it now. There is one reader at a time: who comes second waits for the
// first and has what that one found. Refuses to wait longer than a reader may take.

import type { UpstreamGround } from "../../deployment/deployment.ts";
import { AppError } from "../../protocol/app-error.ts";
import { remote } from "../../tenants/authority/tables.ts";
import { CLAIM_MS, gatewayTables } from "../gateway-tables.ts";
import { READINGS } from "../guard/crowd.ts";
import type { Services } from "../guard/service-binding.ts";
import { readUpstream, refreshAsk } from "../tend-upstreams.ts";
import { configOf } from "../upstream-config.ts";

const LOOK_EVERY_MS = 200;
const PLACE_WITHIN_MS = 10_000;

export async function refreshUpstream(ground: UpstreamGround, id: string, services: Services): Promise<boolean> {
  const upstream = ground.document.upstreams?.[id];
  if (!upstream) return false;
  const leave = await placeToRead(ground.tenant);
  try {
    const ask = { ...refreshAsk(ground, services), by: crypto.randomUUID() };
    const claimed = await remote(ground.stub(), gatewayTables).claim(ask, id, ground.actor);
    if (claimed) {
      await readUpstream({ id, upstream }, ground);
      return true;
    }
  } finally {
    leave();
  }
  return readByOther(ground, id, configOf(upstream));
}

/** For who waits for it. Throws where so much is read that there is none. */
export async function placeToRead(tenant: string): Promise<() => void> {
  const leave = await READINGS.enterWithin(tenant, PLACE_WITHIN_MS);
  if (leave) return leave;
  const message = "Temporarily unavailable: too many upstreams are being read, try again";
  throw new AppError("busy", { message, retryAfter: 5 });
}

async function readByOther({ stub }: UpstreamGround, id: string, config: string): Promise<boolean> {
  for (const end = Date.now() + CLAIM_MS; Date.now() < end; await soon()) {
    const reading = (await remote(stub(), gatewayTables).readings()).find((one) => one.id === id);
    if (reading?.config !== config) return false;
    if (reading.claimedUntil <= Date.now()) return true;
  }
  return true;
}

function soon(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, LOOK_EVERY_MS);
  });
}
