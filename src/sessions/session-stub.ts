// How a Worker reaches a session object: its name, stub and sockets. A stub belongs to one request, and each retry
// makes a new one.

import { namespaceOf } from "../tenants/directory/namespaces.ts";
import { objectsIn } from "../tenants/directory/placement.ts";
import { openSocket, type OpenedSocket } from "../streams/reconnecting-web-socket.ts";
import type { SessionObject } from "./session-object.ts";
import type { Attachment } from "./session-sockets.ts";

export type SessionStub = DurableObjectStub<SessionObject>;

/** `storageKey`: as `storageKey()` in tenant-uid.ts makes it. */
export function sessionName(storageKey: string, nonce: string): string {
  return `${storageKey}/${nonce}`;
}

/** `name`: as `sessionName` makes it. `jurisdiction`: the tenant's. */
export function sessionStub(env: object, name: string, jurisdiction: string | null): SessionStub {
  return objectsIn(namespaceOf<SessionObject>(env, "SessionObject"), jurisdiction).getByName(name);
}

/** `after`: for a viewer, the event of the log after which it starts. */
export function openSessionSocket(stub: SessionStub, socket: Attachment, after = 0): Promise<OpenedSocket> {
  return openSocket(stub, { socket: JSON.stringify(socket), after: String(after) });
}
