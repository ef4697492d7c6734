// Ends upstream sessions for the Durable Object that stores them, with the credentials with which they began. Sessions
// that cannot be ended now are retried at the object's next alarm.

import { httpStatusOf, isTransientFault, McpFault } from "../../mcp-client/fault.ts";
import { end2025 } from "../../mcp-client/streamable-2025.ts";
import { AccessTokenError, type TokenOptions } from "../guard/access-token.ts";
import { getServiceFetch, MissingServiceError, type Services } from "../guard/service-binding.ts";
import { createUpstreamFetch, createTokenFetch } from "../upstream-fetch.ts";
import { endpointOf, withToken } from "../upstream-config.ts";
import { unsealStoredSession, getSessionKeyRing, type StoredSession } from "./stored-session.ts";
import type { EndSessionsRequest } from "./upstream-object.ts";

export interface EndSessionsContext {
  readonly env: unknown;
  readonly services: Services;
  readonly waitUntil: TokenOptions["waitUntil"];
}

/** The platform runs six connections at once per invocation. */
const CONCURRENCY = 4;
const END_TIMEOUT_MS = 2000;

/** Returns the tags of sessions that are over, whatever the upstream answered. The others may be tried again. */
export async function endUpstreamSessions(
  { meant, name, ring, sessions }: EndSessionsRequest,
  context: EndSessionsContext,
): Promise<readonly string[]> {
  const keys = await getSessionKeyRing(context.env, ring);
  const queue = [...sessions];
  const endedTags: string[] = [];
  const worker = async () => {
    for (let one = queue.shift(); one; one = queue.shift()) {
      const stored = await unsealStoredSession(keys, name, one);
      if (!stored || (await endStoredSession(meant.id, stored, context))) endedTags.push(one.tag);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  return endedTags;
}

async function endStoredSession(
  tenant: string,
  { session, upstream, filled }: StoredSession,
  context: EndSessionsContext,
): Promise<boolean> {
  if (session.id === undefined) return true;
  const outbound = { tenant, env: context.env, hops: 0 };
  let usesOldToken = false;
  try {
    const upstreamFetch = createUpstreamFetch(outbound, getServiceFetch(upstream, context.services, context.env));
    const initialHeaders = { ...filled, trace: {}, secrets: [] };
    const tokenOptions = { fetch: createTokenFetch(outbound), now: Date.now, waitUntil: context.waitUntil };
    // The client secret may have changed by now. The upstream may still accept the token that the session used last.
    const { headers } = await withToken(initialHeaders, tokenOptions).catch((error: unknown) => {
      usesOldToken = error instanceof AccessTokenError;
      if (usesOldToken) return initialHeaders;
      throw error;
    });
    await end2025(endpointOf(upstream, headers, upstreamFetch), session, { limits: { totalMs: END_TIMEOUT_MS } });
    return true;
  } catch (error) {
    if (error instanceof McpFault)
      return !isTransientFault(error.fault) && !(usesOldToken && httpStatusOf(error.fault) === 401);
    return error instanceof MissingServiceError;
  }
}
