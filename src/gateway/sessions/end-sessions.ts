// Owns ending sessions at an upstream for the object that kept them, with the credentials that they began with. Refuses
// to go on for long: what cannot be told now is told later, by the object's next alarm.

import type { KeyRing } from "../../auth/seal.ts";
import { isPassing, McpFault } from "../../mcp-client/fault.ts";
import { end2025 } from "../../mcp-client/streamable-2025.ts";
import { authorityTables } from "../../tenants/authority/authority-tables.ts";
import { isGone } from "../../tenants/authority/incarnation.ts";
import { remote } from "../../tenants/authority/tables.ts";
import { stubOf } from "../../tenants/directory/placement.ts";
import type { TokenHow } from "../guard/access-token.ts";
import { serviceOf, UnboundService, type Services } from "../guard/service-binding.ts";
import { outboundFetch, tokenFetch } from "../outbound-fetch.ts";
import { endpointOf, withToken } from "../upstream-config.ts";
import { openKept, sessionRing, type KeptSession } from "./kept-session.ts";
import type { EndOrder } from "./upstream-object.ts";

export interface EndingAt {
  readonly env: { readonly TENANTS: DurableObjectNamespace };
  readonly services: Services;
  readonly waitUntil: TokenHow["waitUntil"];
}

/** The platform lets six requests of an invocation wait for their answers. */
const LANES = 4;
const GOODBYE_MS = 2000;

/** Gives the tags of those that are over, whatever the upstream said; the others may be told once more. */
export async function sessionsEnded({ meant, name, sessions }: EndOrder, at: EndingAt): Promise<readonly string[]> {
  const own = await sessionRing(at.env, []);
  let ofTenant: Promise<KeyRing> | undefined;
  const opened = async (session: EndOrder["sessions"][number]) =>
    (await openKept(own, name, session)) ?? openKept(await (ofTenant ??= tenantRing(at, meant)), name, session);
  const queue = [...sessions];
  const over: string[] = [];
  const lane = async () => {
    for (let one = queue.shift(); one; one = queue.shift()) {
      const kept = await opened(one);
      if (!kept || (await isOver(meant.id, kept, at))) over.push(one.tag);
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  return over;
}

/** Of a tenant that is gone, none: what was sealed with them nobody opens any more. */
async function tenantRing({ env }: EndingAt, meant: EndOrder["meant"]): Promise<KeyRing> {
  try {
    return (await remote(stubOf(env, meant), authorityTables).state()).ring;
  } catch (error) {
    if (isGone(error)) return [];
    throw error;
  }
}

async function isOver(tenant: string, { session, upstream, filled }: KeptSession, at: EndingAt): Promise<boolean> {
  if (session.id === undefined) return true;
  const leaving = { tenant, env: at.env, hops: 0 };
  try {
    const leave = outboundFetch(leaving, serviceOf(upstream, at.services, at.env));
    const began = { ...filled, ofClient: {}, trace: {}, secrets: [] };
    const how = { fetch: tokenFetch(leaving), now: Date.now, waitUntil: at.waitUntil };
    const { headers } = await withToken(began, how);
    await end2025(endpointOf(upstream, headers, leave), session, { limits: { totalMs: GOODBYE_MS } });
    return true;
  } catch (error) {
    if (error instanceof McpFault) return !isPassing(error.fault);
    return error instanceof UnboundService;
  }
}
