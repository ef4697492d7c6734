// Gives a request access to the objects behind a tenant's streams: hubs, change logs and sessions.

import { AppError } from "../protocol/app-error.ts";
import type { SessionPort } from "../protocol/mcp-request.ts";
import type { HubObject } from "../streams/hub-object.ts";
import { openSocket, type OpenedSocket } from "../streams/reconnecting-web-socket.ts";
import { sessionName, sessionStub, type SessionStub } from "./session-stub.ts";
import { withRetries } from "../streams/with-retries.ts";
import type { Listener } from "../streams/socket-messages.ts";
import { createChangeClient, type ChangeMethods } from "../tenants/object/change-rpc.ts";
import { hubName, shardsOf } from "../tenants/object/changes.ts";
import { endedSessionStore, type EndedSessionMethods } from "../tenants/object/ended-session-store.ts";
import { statefulSessionStore, type SessionOwnership } from "../tenants/object/stateful-session-store.ts";
import { namespaceOf } from "../tenants/directory/namespaces.ts";
import { objectsIn } from "../tenants/directory/placement.ts";
import { shardOf } from "../tenants/directory/shards.ts";
import { createRpcClient, type RpcClient } from "../tenants/object/store.ts";
import type { TenantStub } from "../tenants/object/tenant-uid.ts";
import { withTimeout } from "../tenants/cache/with-timeout.ts";
import type { Session } from "./session-id.ts";

export interface StreamEnv {
  /** Variable: how many objects share a tenant's notification streams; 1 by default, which takes 20,000 streams. */
  readonly HUB_SHARDS?: string;
}

export interface SessionStubs {
  /** The hub of a session's stream, or any hub for a stream without a session. */
  shardFor(session: string | null): number;
  openHubSocket(shard: number, listener: Listener): Promise<OpenedSocket>;
  /** Ends the stream of a session, at whichever hub it is. */
  endStream(session: Session): Promise<void>;
  changes(): RpcClient<ChangeMethods>;
  endedSessions(): RpcClient<EndedSessionMethods>;
  sessionObject(session: Session): SessionStub;
  /**
   * Like `sessionObject`, for a caller that makes the object store something. Registers the session with the tenant
   * object, so that deleting the tenant finds it. Throws `unknownTenant` if the tenant is gone.
   */
  registerSession(session: Session): Promise<SessionStub>;
  sessionPort(session: Session): SessionPort;
}

/** Sessions whose objects this isolate registered, oldest first. Bound: MAX_REGISTERED; the oldest is dropped. */
const registered = new Set<string>();
const MAX_REGISTERED = 10_000;

export interface SessionTenant {
  stub(this: void): TenantStub;
  readonly jurisdiction: string | null;
  /** The owner of a session, for the limits on stateful sessions. */
  ownership(this: void, session: Session): Promise<SessionOwnership>;
}

const LIMIT_RETRY_S = 60;

function sessionLimitError(
  name: "sessions" | "tenantSessions",
  { maxPerOwner, maxPerTenant }: SessionOwnership,
): AppError {
  const most = name === "sessions" ? maxPerOwner : maxPerTenant;
  const message = `Too many requests: ${name} allows ${most} stored sessions; end some with DELETE`;
  return new AppError("limited", { message, retryAfter: LIMIT_RETRY_S, exceeded: { name, most } });
}

/**
 * `storageKey`: the tenant's prefix in the names of its hubs and sessions, as `storageKey()` in tenant-uid.ts makes it.
 */
export function createSessionStubs(
  storageKey: string,
  env: StreamEnv,
  { stub, jurisdiction, ownership }: SessionTenant,
): SessionStubs {
  const hub = (shard: number) =>
    objectsIn(namespaceOf<HubObject>(env, "HubObject"), jurisdiction).getByName(hubName(storageKey, shard));
  const shardFor = (session: string | null) =>
    session === null ? Math.floor(Math.random() * shardsOf(env)) : shardOf(session, shardsOf(env));
  // If the stream is not at its current hub, a Worker with another HUB_SHARDS may have it at another hub.
  const callStreamHub = async ({ nonce }: Session, method: "resubscribe" | "endSession") => {
    const shard = shardFor(nonce);
    if (await hub(shard)[method](nonce)) return;
    // An unreachable tenant object is not waited for.
    const hubs = await createChangeClient(stub())
      .hubs()
      .catch(() => 0);
    const others = Array.from({ length: hubs }, (_none, other) => other).filter((other) => other !== shard);
    await Promise.all(others.map((other) => hub(other)[method](nonce)));
  };
  const sessionObject = ({ nonce }: Pick<Session, "nonce">) =>
    sessionStub(env, sessionName(storageKey, nonce), jurisdiction);
  const registerSession = async (session: Session) => {
    const name = sessionName(storageKey, session.nonce);
    if (!registered.has(name)) {
      const owned = await ownership(session);
      const result = await createRpcClient(stub(), statefulSessionStore).register(
        session.nonce,
        session.expires,
        owned,
      );
      if (result === false) throw new AppError("unknownTenant");
      if (result !== true) throw sessionLimitError(result, owned);
      const [oldest] = registered;
      if (registered.size >= MAX_REGISTERED && oldest !== undefined) registered.delete(oldest);
      registered.add(name);
    }
    return sessionObject(session);
  };
  return {
    shardFor,
    openHubSocket: (shard, listener) => openSocket(hub(shard), { listener: JSON.stringify(listener) }),
    endStream: (session) => callStreamHub(session, "endSession"),
    changes: () => createChangeClient(stub()),
    endedSessions: () => createRpcClient(stub(), endedSessionStore),
    sessionObject,
    registerSession,
    sessionPort: (session) => ({
      isUnknownRevision: session.unofficial,
      client: session.client,
      logLevel: () => withTimeout(withRetries(async () => sessionObject(session).logLevel())),
      setLogLevel: (level) =>
        withRetries(async () => (await registerSession(session)).setLogLevel(level, session.expires)),
      subscribe: (uri, requestedUri) =>
        withRetries(async () => {
          const added = await (await registerSession(session)).subscribe(uri, requestedUri, session.expires);
          if (added) await callStreamHub(session, "resubscribe");
          return added;
        }),
      unsubscribe: (uri) =>
        withRetries(async () => {
          await sessionObject(session).unsubscribe(uri);
          await callStreamHub(session, "resubscribe");
        }),
    }),
  };
}
