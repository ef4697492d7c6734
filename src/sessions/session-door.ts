// Owns how a Worker reaches a session's object: its name, its sockets, and trying again when the object was just moved
// or evicted. A stub belongs to one request.

import { objectsIn } from "../tenants/directory/placement.ts";
import { openSocket, type Opened } from "../streams/held-socket.ts";
import type { SessionObject } from "./session-object.ts";
import type { Attachment } from "./session-sockets.ts";

export type SessionStub = DurableObjectStub<SessionObject>;

export interface SessionEnv {
  readonly SESSIONS: DurableObjectNamespace<SessionObject>;
}

export function sessionName(tenant: string, nonce: string): string {
  return `${tenant}/${nonce}`;
}

/** `jurisdiction`: the tenant's. */
export function sessionStub({ SESSIONS }: SessionEnv, name: string, jurisdiction: string | null): SessionStub {
  return objectsIn(SESSIONS, jurisdiction).getByName(name);
}

export function openSessionSocket(stub: SessionStub, socket: Attachment, after = 0): Promise<Opened> {
  return openSocket(stub, { socket: JSON.stringify(socket), after: String(after) });
}
