// Owns reading an upstream because an operator wants it now. There is one reader at a time: who comes second waits for the
// first and has what that one found. Refuses to wait longer than a reader may take.

import type { UpstreamGround } from "../../deployment/deployment.ts";
import { remote } from "../../tenants/authority/tables.ts";
import { CLAIM_MS, gatewayTables } from "../gateway-tables.ts";
import { readUpstream, refreshAsk } from "../tend-upstreams.ts";
import { configOf } from "../upstream-config.ts";

const LOOK_EVERY_MS = 200;

export async function refreshUpstream(ground: UpstreamGround, id: string): Promise<boolean> {
  const upstream = ground.document.upstreams?.[id];
  if (!upstream) return false;
  const claimed = await remote(ground.stub(), gatewayTables).claim(refreshAsk(ground), id, ground.actor);
  if (!claimed) return readByOther(ground, id, configOf(upstream));
  await readUpstream({ id, upstream }, ground);
  return true;
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
