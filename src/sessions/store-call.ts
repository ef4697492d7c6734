// Owns what makes a call of a session one that can be stored: the record to run it again, its runner, how it is
// cancelled from anywhere. Refuses to know where its events are shown, and how it is answered.

import type { AppUser } from "../auth/app-user.ts";
import { keyHashOf } from "../auth/credential.ts";
import type { OAuthPrincipal } from "../auth/principal.ts";
import type { McpRequest } from "../protocol/mcp-request.ts";
import { encodeFailure } from "../protocol/dispatch.ts";
import type { ProtocolVersion } from "../protocol/revisions.ts";
import { failure } from "../protocol/errors.ts";
import type { TenantUid } from "../tenants/object/tenant-uid.ts";
import { withRetries } from "../streams/with-retries.ts";
import { CallRunner, newCallKey, requestKey } from "./call-runner.ts";
import type { NewCall } from "./call-store.ts";
import type { SessionCaller } from "./session-caller.ts";
import type { Session } from "./session-id.ts";

/** A call that takes longer connects to its session's object, where a cancellation from any isolate reaches it. */
const CONNECT_AFTER_MS = 500;

/** Everything that is needed to run a call again, in any isolate. */
export interface CallRecord {
  /** Absent in the first form. One that earlier code would run as something else is counted here. */
  readonly format?: number;
  /** Under which path the Worker is mounted that took the call. */
  readonly mount: string;
  readonly tenant: string;
  /** Which tenant of the name took the call. */
  readonly created: TenantUid;
  readonly profile: string | null;
  /** The hash of the caller's key; null: none was brought. */
  readonly keyHash: string | null;
  readonly principal: string;
  /** Whose is what its runs keep. */
  readonly owner: string;
  /** Whom a token named; no token is kept. */
  readonly person?: OAuthPrincipal;
  /** Whom the app named that mounts the Worker. */
  readonly user?: AppUser;
  readonly hops: number;
  /** By which the call is found in logs. */
  readonly requestId: string;
  readonly revision: ProtocolVersion;
  readonly session: Pick<Session, "unofficial" | "capabilities" | "nonce" | "expires" | "client">;
  readonly call: Pick<McpRequest, "id" | "method" | "params">;
}

/** A call of a session that runs now. */
export interface SessionCall {
  readonly call: McpRequest;
  readonly session: Session;
  /** Whether it may be run again when its run is lost. */
  readonly repeatable: boolean;
}

export interface RunnerHooks {
  /** Notifications that went to the client before the call was stored. */
  notificationCount(): number;
  /** The call is stored: what is said from now on goes into its log. */
  onStored(key: string): void;
  /** Whether the rights under which the call was admitted still hold, after it waited. */
  hasSameRights(): Promise<boolean>;
  onCancelled(): void;
}

export function createRunner(caller: SessionCaller, running: SessionCall, hooks: RunnerHooks): CallRunner {
  const { call, session, repeatable } = running;
  return new CallRunner({
    sessionObject: () => caller.sessionStubs.sessionObject(session),
    expires: session.expires,
    request: requestKey(call.id),
    repeatable,
    describe: async () => {
      await withRetries(() => caller.sessionStubs.registerSession(session));
      return { ...(await describeCall(caller, running)), said: hooks.notificationCount() };
    },
    onStored: (key) => {
      hooks.onStored(key);
    },
    hasSameRights: () => hooks.hasSameRights(),
    onCancelled: () => {
      hooks.onCancelled();
    },
  });
}

/** Connects the runner when the call turns out slow: a quick call costs the session's object nothing. */
export function connectWhenSlow(runner: CallRunner, settled: Promise<unknown>, caller: SessionCaller): void {
  const timer = setTimeout(() => {
    runner.watch().catch((error: unknown) => {
      caller.onError(error);
    });
  }, CONNECT_AFTER_MS);
  void settled.then(() => {
    clearTimeout(timer);
    if (!runner.isStored) runner.close();
  });
}

/** Stores a resumable call before it runs, and has it run. Resolves to its key; undefined: the session has no room. */
export async function storeCall(caller: SessionCaller, running: SessionCall): Promise<string | undefined> {
  const { call, session } = running;
  const key = newCallKey();
  const newCall = { key, request: requestKey(call.id), said: 0, ...(await describeCall(caller, running)) };
  const start = async () => (await caller.sessionStubs.registerSession(session)).start(newCall, session.expires);
  const started = await withRetries(start);
  return started ? key : undefined;
}

const LOST_MESSAGE = "Internal error: the call could not be run to its end";
const LOST_ONCE_MESSAGE =
  "Internal error: the run of this call was lost, and it may not be run twice; whether it was done is not known";

async function describeCall(
  caller: SessionCaller,
  { call, session, repeatable }: SessionCall,
): Promise<Pick<NewCall, "record" | "fallback" | "repeatable">> {
  const { mount, tenant, created, profile, credential, principal, hops, requestId } = caller;
  const { id, method, params } = call;
  const { unofficial, capabilities, nonce, expires, client } = session;
  const record: CallRecord = {
    mount,
    tenant,
    created,
    profile,
    keyHash: await keyHashOf(credential),
    principal: principal.id,
    owner: await caller.owner(),
    ...(principal.kind === "oauth" && { person: principal as OAuthPrincipal }),
    ...(credential.kind === "app" && { user: credential.user }),
    hops,
    requestId,
    revision: session.revision.version,
    session: { unofficial, capabilities, nonce, expires, ...(client && { client }) },
    call: { id, method, params },
  };
  const fallback = failure("internal", repeatable ? LOST_MESSAGE : LOST_ONCE_MESSAGE);
  return { record: JSON.stringify(record), fallback: encodeFailure(id, fallback, "2025").json, repeatable };
}
