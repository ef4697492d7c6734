// Owns the ways from a request to the objects behind a tenant's streams: its hub, its changes, its sessions.

import { AppError } from "../protocol/app-error.ts";
import type { SessionPort } from "../protocol/call.ts";
import type { HubObject } from "../streams/hub-object.ts";
import { openSocket, type Opened } from "../streams/held-socket.ts";
import { sessionName, sessionStub, type SessionStub } from "./session-door.ts";
import { persistently } from "../streams/persistently.ts";
import type { Listener } from "../streams/wire.ts";
import { remoteChanges, type ChangeMethods } from "../tenants/authority/change-calls.ts";
import { hubName, shardsOf } from "../tenants/authority/changes.ts";
import { endedTables, type EndedMethods } from "../tenants/authority/ended-tables.ts";
import { sessionRegister, type SessionOwnership } from "../tenants/authority/session-register.ts";
import { namespaceOf } from "../tenants/directory/namespaces.ts";
import { objectsIn } from "../tenants/directory/placement.ts";
import { shardOf } from "../tenants/directory/shard.ts";
import { remote, type Remote } from "../tenants/authority/tables.ts";
import type { TenantStub } from "../tenants/authority/incarnation.ts";
import { inTime } from "../tenants/isolate/in-time.ts";
import type { Session } from "./session-id.ts";

export interface StreamEnv {
  readonly HUB_SHARDS?: string;
}

export interface Doors {
  /** The hub of a session's stream, or any for a stream without a session. */
  shardFor(session: string | null): number;
  listenAt(shard: number, listener: Listener): Promise<Opened>;
  /** Ends the stream of a session, wherever it is. */
  endStream(session: Session): Promise<void>;
  changes(): Remote<ChangeMethods>;
  ended(): Remote<EndedMethods>;
  sessionObject(session: Session): SessionStub;
  /**
   * The same, for whoever makes the object store something: registers it with the authority, so that deleting the
   * tenant finds it. Throws `unknownTenant` when the tenant is gone.
   */
  remembered(session: Session): Promise<SessionStub>;
  sessionPort(session: Session): SessionPort;
}

/** Sessions whose objects this isolate registered, oldest first. Bound: MAX_REGISTERED, the oldest goes. */
const registered = new Set<string>();
const MAX_REGISTERED = 10_000;

export interface TenantPlace {
  stub(this: void): TenantStub;
  readonly jurisdiction: string | null;
  /** Whose a session is, for the limits of what is remembered. */
  ownership(this: void, session: Session): Promise<SessionOwnership>;
}

const FULL_RETRY_S = 60;

function noRoom(name: "sessions" | "tenantSessions", { mostOfOwner, mostOfAll }: SessionOwnership): AppError {
  const most = name === "sessions" ? mostOfOwner : mostOfAll;
  const message = `Too many requests: ${name} allows ${most} sessions that must be remembered; end some with DELETE`;
  return new AppError("limited", { message, retryAfter: FULL_RETRY_S, met: { name, most } });
}

/** `kept`: what stands for the tenant in the names of its hubs and sessions, as `keptUnder` makes it. */
export function createDoors(kept: string, env: StreamEnv, { stub, jurisdiction, ownership }: TenantPlace): Doors {
  const hub = (shard: number) =>
    objectsIn(namespaceOf<HubObject>(env, "HubObject"), jurisdiction).getByName(hubName(kept, shard));
  const shardFor = (session: string | null) =>
    session === null ? Math.floor(Math.random() * shardsOf(env)) : shardOf(session, shardsOf(env));
  // Where it is not at the hub where it would be today, a Worker with another HUB_SHARDS may have it at another.
  const atStream = async ({ nonce }: Session, tell: "resubscribe" | "endSession") => {
    const shard = shardFor(nonce);
    if (await hub(shard)[tell](nonce)) return;
    // An authority that is away is not waited for.
    const hubs = await remoteChanges(stub())
      .hubs()
      .catch(() => 0);
    const others = Array.from({ length: hubs }, (_none, other) => other).filter((other) => other !== shard);
    await Promise.all(others.map((other) => hub(other)[tell](nonce)));
  };
  const sessionObject = ({ nonce }: Pick<Session, "nonce">) => sessionStub(env, sessionName(kept, nonce), jurisdiction);
  const remembered = async (session: Session) => {
    const name = sessionName(kept, session.nonce);
    if (!registered.has(name)) {
      const of = await ownership(session);
      const open = await remote(stub(), sessionRegister).remember(session.nonce, session.expires, of);
      if (open === false) throw new AppError("unknownTenant");
      if (open !== true) throw noRoom(open, of);
      const [oldest] = registered;
      if (registered.size >= MAX_REGISTERED && oldest !== undefined) registered.delete(oldest);
      registered.add(name);
    }
    return sessionObject(session);
  };
  return {
    shardFor,
    listenAt: (shard, listener) => openSocket(hub(shard), { listener: JSON.stringify(listener) }),
    endStream: (session) => atStream(session, "endSession"),
    changes: () => remoteChanges(stub()),
    ended: () => remote(stub(), endedTables),
    sessionObject,
    remembered,
    sessionPort: (session) => ({
      unofficial: session.unofficial,
      client: session.client,
      logLevel: () => inTime(persistently(async () => sessionObject(session).logLevel())),
      setLogLevel: (level) => persistently(async () => (await remembered(session)).setLogLevel(level, session.expires)),
      subscribe: (uri, asked) =>
        persistently(async () => {
          const added = await (await remembered(session)).subscribe(uri, asked, session.expires);
          if (added) await atStream(session, "resubscribe");
          return added;
        }),
      unsubscribe: (uri) =>
        persistently(async () => {
          await sessionObject(session).unsubscribe(uri);
          await atStream(session, "resubscribe");
        }),
    }),
  };
}
