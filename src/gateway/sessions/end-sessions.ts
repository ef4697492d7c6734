// Owns ending sessions at an upstream for the object that kept them, with the credentials that they began with. Refuses
// to go on for long: what cannot be told now is told later, by the object's next alarm.

import { httpStatusOf, isPassing, McpFault } from "../../mcp-client/fault.ts";
import { end2025 } from "../../mcp-client/streamable-2025.ts";
import { TokenRefusal, type TokenHow } from "../guard/access-token.ts";
import { serviceOf, UnboundService, type Services } from "../guard/service-binding.ts";
import { outboundFetch, tokenFetch } from "../outbound-fetch.ts";
import { endpointOf, withToken } from "../upstream-config.ts";
import { openKept, sessionRing, type KeptSession } from "./kept-session.ts";
import type { EndOrder } from "./upstream-object.ts";

export interface EndingAt {
  readonly env: unknown;
  readonly services: Services;
  readonly waitUntil: TokenHow["waitUntil"];
}

/** The platform lets six requests of an invocation wait for their answers. */
const LANES = 4;
const GOODBYE_MS = 2000;

/** Gives the tags of those that are over, whatever the upstream said; the others may be told once more. */
export async function sessionsEnded(
  { meant, name, ring, sessions }: EndOrder,
  at: EndingAt,
): Promise<readonly string[]> {
  const keys = await sessionRing(at.env, ring);
  const queue = [...sessions];
  const over: string[] = [];
  const lane = async () => {
    for (let one = queue.shift(); one; one = queue.shift()) {
      const kept = await openKept(keys, name, one);
      if (!kept || (await isOver(meant.id, kept, at))) over.push(one.tag);
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  return over;
}

async function isOver(tenant: string, { session, upstream, filled }: KeptSession, at: EndingAt): Promise<boolean> {
  if (session.id === undefined) return true;
  const leaving = { tenant, env: at.env, hops: 0 };
  let isOldToken = false;
  try {
    const leave = outboundFetch(leaving, serviceOf(upstream, at.services, at.env));
    const began = { ...filled, trace: {}, secrets: [] };
    const how = { fetch: tokenFetch(leaving), now: Date.now, waitUntil: at.waitUntil };
    // Where the client has another secret by now, the token that it was used with last may still do.
    const { headers } = await withToken(began, how).catch((error: unknown) => {
      isOldToken = error instanceof TokenRefusal;
      if (isOldToken) return began;
      throw error;
    });
    await end2025(endpointOf(upstream, headers, leave), session, { limits: { totalMs: GOODBYE_MS } });
    return true;
  } catch (error) {
    if (error instanceof McpFault) return !isPassing(error.fault) && !(isOldToken && httpStatusOf(error.fault) === 401);
    return error instanceof UnboundService;
  }
}
