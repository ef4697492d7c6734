// Finds a session by its id: whether it belongs to this caller, and whether its client ended it. Also ends sessions.
// https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management

import { failure, type Failure } from "../protocol/errors.ts";
import { withRetries } from "../streams/with-retries.ts";
import { peekPolicy } from "../tenants/cache/policy-cache.ts";
import type { SessionCaller } from "./session-caller.ts";
import { parseSessionId, SESSION_LIFETIME_MS, type Session, type SessionOwner } from "./session-id.ts";

export function ownerOf({ tenant, profile, principal, ring }: SessionCaller): SessionOwner {
  return { tenant, profile, principal: principal.id, ring };
}

/**
 * undefined: not a session of this caller, or it expired or ended. The tenant object is only asked about a session
 * older than the time since which this isolate knows every ended session.
 */
export async function findSession(caller: SessionCaller, id: string): Promise<Session | undefined> {
  const session = await parseSessionId(ownerOf(caller), id);
  if (!session) return undefined;
  const { endedSessions: ended } = caller;
  const known = ended.hasEnded(session.nonce, session.expires - SESSION_LIFETIME_MS);
  if (known !== undefined) return known ? undefined : session;
  const hasEnded = await withRetries(() => caller.sessionStubs.endedSessions().hasEnded(session.nonce));
  ended.setEnded(session.nonce, hasEnded);
  return hasEnded ? undefined : session;
}

/**
 * Returns a failure if there is no such session. This isolate refuses the id from now on, other isolates when their
 * leases end.
 */
export async function endSession(caller: SessionCaller, id: string): Promise<Failure | undefined> {
  const session = await findSession(caller, id);
  if (!session) return failure("sessionNotFound");
  const { nonce, expires } = session;
  const hasObject = await withRetries(() => caller.sessionStubs.endedSessions().endSession(nonce, expires));
  (peekPolicy(caller.tenant)?.endedSessions ?? caller.endedSessions).add(nonce);
  const ending = [caller.sessionStubs.endStream(session)];
  // A session object that stores nothing is not woken.
  if (hasObject) ending.push(caller.sessionStubs.sessionObject(session).end());
  caller.waitUntil(
    Promise.all(ending).catch((error: unknown) => {
      caller.onError(error);
    }),
  );
  return undefined;
}
