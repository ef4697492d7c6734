// Prepares a call of a session to be stored: the record for another run, its runner, and its cancellation from any
// isolate.

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

/** A call that takes longer connects to its session object, where a cancellation from any isolate reaches it. */
const CONNECT_AFTER_MS = 500;

/** The data to run a call again, in any isolate. */
export interface CallRecord {
  /** Absent in the first format. A format that earlier code would misread gets a number here. */
  readonly format?: number;
  /** The path at which the Worker is mounted that received the call. */
  readonly mount: string;
  readonly tenant: string;
  /** Distinguishes the tenant from others of its name. */
  readonly created: TenantUid;
  readonly profile: string | null;
  /** The hash of the caller's key; null: the caller had no key. */
  readonly keyHash: string | null;
  readonly principal: string;
  /** The owner of the data that its runs store. */
  readonly owner: string;
  /** The person that a token named. The token itself is not stored. */
  readonly person?: OAuthPrincipal;
  /** The user that the mounting app named. */
  readonly user?: AppUser;
  readonly hops: number;
  /** Identifies the call in logs. */
  readonly requestId: string;
  readonly revision: ProtocolVersion;
  readonly session: Pick<Session, "unofficial" | "capabilities" | "nonce" | "expires" | "client">;
  readonly call: Pick<McpRequest, "id" | "method" | "params">;
}

export interface SessionCall {
  readonly call: McpRequest;
  readonly session: Session;
  /** Whether the call may run again after its run was lost. */
  readonly repeatable: boolean;
}

export interface RunnerHooks {
  /** How many notifications the client received before the call was stored. */
  notificationCount(): number;
  /** The call was stored. From now on its messages go into its log. */
  onStored(key: string): void;
  /** Whether the rights with which the call was admitted still hold after a wait. */
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
      return { ...(await describeCall(caller, running)), notificationCount: hooks.notificationCount() };
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

/** Connects the runner if the call is slow. A quick call costs the session object nothing. */
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

/**
 * Stores a resumable call before it runs, and starts its run. Resolves to its key; undefined: the session has no room.
 */
export async function storeCall(caller: SessionCaller, running: SessionCall): Promise<string | undefined> {
  const { call, session } = running;
  const key = newCallKey();
  const newCall = { key, request: requestKey(call.id), notificationCount: 0, ...(await describeCall(caller, running)) };
  const start = async () => (await caller.sessionStubs.registerSession(session)).start(newCall, session.expires);
  const started = await withRetries(start);
  return started ? key : undefined;
}

const LOST_MESSAGE = "Internal error: the call could not be completed";
const LOST_ONCE_MESSAGE =
  "Internal error: the call was interrupted and is not run again; it may have taken effect, check before you call again";

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
