// Owns how a Worker reaches a session's object: its name, its sockets, and trying again when the object was just moved
// or evicted. A stub belongs to one request.

import { objectsIn } from "../tenants/stub.ts";
import { openSocket, type Opened } from "./held-socket.ts";
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

const RETRY_MS = [20, 150, 600] as const;

/** For what may be said twice: an object that was evicted in the middle may have heard it or not. */
export async function persistently<T>(work: () => Promise<T>): Promise<T> {
  for (const wait of RETRY_MS) {
    try {
      return await work();
    } catch (error) {
      if (isOverloaded(error)) throw error;
      await scheduler.wait(wait);
    }
  }
  return work();
}

function isOverloaded(error: unknown): boolean {
  return typeof error === "object" && error !== null && "overloaded" in error && error.overloaded === true;
}

export function openSessionSocket(stub: SessionStub, socket: Attachment, after = 0): Promise<Opened> {
  return openSocket(stub, { socket: JSON.stringify(socket), after: String(after) });
}
