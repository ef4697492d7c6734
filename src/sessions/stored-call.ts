// Owns what makes a call of a session one that can be stored: the record to run it again, its runner, how it is
// cancelled from anywhere. Refuses to know where its events are shown, and how it is answered.

import type { AppUser } from "../auth/app-user.ts";
import { keyHashOf } from "../auth/credential.ts";
import type { Person } from "../auth/principal.ts";
import type { Call } from "../protocol/call.ts";
import { encodeFailure } from "../protocol/dispatch.ts";
import type { Revision } from "../protocol/era.ts";
import { failure } from "../protocol/errors.ts";
import type { Incarnation } from "../tenants/authority/incarnation.ts";
import { persistently } from "../streams/persistently.ts";
import { CallRunner, newCallKey, requestKey } from "./call-runner.ts";
import type { NewCall } from "./call-tables.ts";
import type { SessionCaller } from "./session-caller.ts";
import type { Session } from "./session-id.ts";

/** A call that takes longer connects to its session's object, where a cancellation from any isolate reaches it. */
const WATCHED_AFTER_MS = 500;

/** Everything that is needed to run a call again, in any isolate. */
export interface CallRecord {
  /** Absent in the first form. One that earlier code would run as something else is counted here. */
  readonly format?: number;
  /** Under which path the Worker is mounted that took the call. */
  readonly mount: string;
  readonly tenant: string;
  /** Which tenant of the name took the call. */
  readonly created: Incarnation;
  readonly profile: string | null;
  /** The hash of the caller's key; null: none was brought. */
  readonly keyHash: string | null;
  readonly principal: string;
  /** Whose is what its runs keep. */
  readonly owner: string;
  /** Whom a token named; no token is kept. */
  readonly person?: Person;
  /** Whom the app named that mounts the Worker. */
  readonly user?: AppUser;
  readonly hops: number;
  /** By which the call is found in logs. */
  readonly requestId: string;
  readonly revision: Revision;
  readonly session: Pick<Session, "unofficial" | "capabilities" | "nonce" | "expires" | "client">;
  readonly call: Pick<Call, "id" | "method" | "params">;
}

/** A call of a session that runs now. */
export interface SessionCall {
  readonly call: Call;
  readonly session: Session;
  /** Whether it may be run again when its run is lost. */
  readonly repeatable: boolean;
}

export interface RunnerHooks {
  /** Notifications that went to the client before the call was stored. */
  said(): number;
  /** The call is stored: what is said from now on goes into its log. */
  stored(key: string): void;
  /** Whether the rights under which the call was admitted still hold, after it waited. */
  unchanged(): Promise<boolean>;
  cancelled(): void;
}

export function createRunner(caller: SessionCaller, running: SessionCall, hooks: RunnerHooks): CallRunner {
  const { call, session, repeatable } = running;
  return new CallRunner({
    object: () => caller.doors.sessionObject(session),
    expires: session.expires,
    request: requestKey(call.id),
    repeatable,
    describe: async () => {
      await persistently(() => caller.doors.remembered(session));
      return { ...(await describe(caller, running)), said: hooks.said() };
    },
    stored: (key) => {
      hooks.stored(key);
    },
    unchanged: () => hooks.unchanged(),
    cancelled: () => {
      hooks.cancelled();
    },
  });
}

/** Connects the runner when the call turns out slow: a quick call costs the session's object nothing. */
export function watch(runner: CallRunner, settled: Promise<unknown>, caller: SessionCaller): void {
  const timer = setTimeout(() => {
    runner.watch().catch((error: unknown) => {
      caller.onError(error);
    });
  }, WATCHED_AFTER_MS);
  void settled.then(() => {
    clearTimeout(timer);
    if (!runner.isStored) runner.close();
  });
}

/** Stores a resumable call before it runs, and has it run. Resolves to its key; undefined: the session has no room. */
export async function storeCall(caller: SessionCaller, running: SessionCall): Promise<string | undefined> {
  const { call, session } = running;
  const key = newCallKey();
  const stored = { key, request: requestKey(call.id), said: 0, ...(await describe(caller, running)) };
  const start = async () => (await caller.doors.remembered(session)).start(stored, session.expires);
  const started = await persistently(start);
  return started ? key : undefined;
}

const LOST = "Internal error: the call could not be run to its end";
const LOST_FOR_GOOD =
  "Internal error: the run of this call was lost, and it may not be run twice; whether it was done is not known";

async function describe(
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
    ...(principal.kind === "oauth" && { person: principal as Person }),
    ...(credential.kind === "app" && { user: credential.user }),
    hops,
    requestId,
    revision: session.dialect.revision,
    session: { unofficial, capabilities, nonce, expires, ...(client && { client }) },
    call: { id, method, params },
  };
  const lost = failure("internal", repeatable ? LOST : LOST_FOR_GOOD);
  return { record: JSON.stringify(record), fallback: encodeFailure(id, lost, "2025").json, repeatable };
}
