// Owns finding out whether a session id is one of this caller here, and whether its client ended it; and ending it.
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
 * undefined: no session of this caller, or one that expired or ended. Asks the authority only about a session that
 * began before the time for which this isolate knows every session that ended.
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

/** A failure: no such session. This isolate refuses the id from now on, every other when its lease ends. */
export async function endSession(caller: SessionCaller, id: string): Promise<Failure | undefined> {
  const session = await findSession(caller, id);
  if (!session) return failure("sessionNotFound");
  const { nonce, expires } = session;
  const hasObject = await withRetries(() => caller.sessionStubs.endedSessions().endSession(nonce, expires));
  (peekPolicy(caller.tenant)?.endedSessions ?? caller.endedSessions).add(nonce);
  const ending = [caller.sessionStubs.endStream(session)];
  // A session's object that stores nothing is not woken.
  if (hasObject) ending.push(caller.sessionStubs.sessionObject(session).end());
  caller.waitUntil(
    Promise.all(ending).catch((error: unknown) => {
      caller.onError(error);
    }),
  );
  return undefined;
}
