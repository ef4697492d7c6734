// Owns finding out whether a session id is one of this caller here, and whether its client ended it; and ending it.
// https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management

import type { Failure } from "../../protocol/errors.ts";
import { failure } from "../../protocol/errors.ts";
import { persistently } from "../../streams/persistently.ts";
import { lastSnapshot, type Snapshot } from "../../tenants/isolate/snapshot.ts";
import type { Admitted } from "../admit.ts";
import type { Endpoint } from "../endpoint.ts";
import { openSession, SESSION_LIFETIME_MS, type Session, type SessionOwner } from "../../sessions/session-id.ts";

export interface Owned extends Endpoint {
  readonly held: Snapshot;
  readonly admitted: Admitted;
}

export function ownerOf({ tenant, profile, admitted, held }: Owned): SessionOwner {
  return { tenant, profile, principal: admitted.principal.id, ring: held.ring };
}

/** undefined: no session of this caller, or no longer. Asks nobody, but for a session older than what is known here. */
export async function findSession(owned: Owned, id: string): Promise<Session | undefined> {
  const opened = openSession(ownerOf(owned), id);
  const session = opened instanceof Promise ? await opened : opened;
  if (!session) return undefined;
  const { ended } = owned.held;
  const known = ended.hasEnded(session.nonce, session.expires - SESSION_LIFETIME_MS);
  if (known !== undefined) return known ? undefined : session;
  const over = await persistently(() => owned.doors.ended().hasEnded(session.nonce));
  ended.settle(session.nonce, over);
  return over ? undefined : session;
}

/** Answered at once: this isolate refuses the id from now on, every other when its lease ends. */
export async function endSession(owned: Owned, id: string): Promise<Failure | undefined> {
  const session = await findSession(owned, id);
  if (!session) return failure("sessionNotFound");
  const { nonce, expires } = session;
  (lastSnapshot(owned.tenant)?.ended ?? owned.held.ended).end(nonce);
  const remembered = await persistently(() => owned.doors.ended().endSession(nonce, expires));
  const ending = [owned.doors.hubOf(session).endSession(nonce)];
  // An object that remembers nothing is not woken for it.
  if (remembered) ending.push(owned.doors.sessionObject(session).end());
  owned.waitUntil(
    Promise.all(ending).catch((error: unknown) => {
      owned.onError(error);
    }),
  );
  return undefined;
}
