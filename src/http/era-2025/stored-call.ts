// Owns what makes a call of a session one that can be stored: the record to run it again, its runner, how it is cancelled
// from anywhere. Refuses to know where its events are shown.

import { hashToken, keptHash } from "../../auth/api-key.ts";
import type { Call, Resumable } from "../../protocol/backend.ts";
import { encodeFailure } from "../../protocol/dispatch.ts";
import type { Revision } from "../../protocol/era.ts";
import { failure } from "../../protocol/errors.ts";
import { isFailure } from "../../protocol/methods/params.ts";
import { CallRunner, newCallKey, requestKey } from "../../sessions/call-runner.ts";
import type { NewCall } from "../../sessions/call-tables.ts";
import { persistently } from "../../streams/persistently.ts";
import type { Snapshot } from "../../tenants/isolate/snapshot.ts";
import type { Arrived, Endpoint } from "../endpoint.ts";
import type { Session } from "../../sessions/session-id.ts";

/** From then on a call can be cancelled from anywhere; an earlier cancellation is found then. */
const WATCHED_AFTER_MS = 500;

/** Everything that is needed to run a call again, in any isolate. */
export interface CallRecord {
  readonly tenant: string;
  readonly profile: string | null;
  /** Of the key that was brought; null for none. */
  readonly keyHash: string | null;
  readonly principal: string;
  readonly revision: Revision;
  readonly session: Pick<Session, "unofficial" | "capabilities" | "nonce" | "expires">;
  readonly call: Pick<Call, "id" | "method" | "params">;
}

export interface Running {
  readonly call: Call;
  readonly session: Session;
}

export function resumableOf({ served }: Arrived, { method, params }: Call): Resumable | undefined {
  const tool = method === "tools/call" && typeof params.name === "string" ? served.tool(params.name) : undefined;
  return tool && !isFailure(tool) ? tool.resumable : undefined;
}

export interface RunnerHooks {
  /** Notifications that went to the client before the call was stored. */
  said(): number;
  /** It is stored now: what is said from now on goes into its log. */
  stored(key: string): void;
  cancelled(): void;
}

export function createRunner(arrived: Arrived, running: Running, hooks: RunnerHooks): CallRunner {
  const { call, session } = running;
  return new CallRunner({
    object: () => arrived.doors.sessionObject(session),
    expires: session.expires,
    request: requestKey(call.id),
    describe: async () => {
      await persistently(() => arrived.doors.remembered(session));
      return { ...(await describe(arrived, running)), said: hooks.said() };
    },
    stored: (key) => {
      hooks.stored(key);
    },
    unchanged: () => isUnchanged(arrived, arrived.held),
    cancelled: () => {
      hooks.cancelled();
    },
  });
}

/** Whether a call may go on as it was admitted under this snapshot. */
export async function isUnchanged(endpoint: Endpoint, { version, created }: Snapshot): Promise<boolean> {
  const now = await endpoint.snapshot();
  if (isFailure(now) || now.version !== version || now.created !== created) return false;
  return !isFailure(endpoint.admit(now));
}

/** A quick call costs the session's object nothing. */
export function watch(runner: CallRunner, settled: Promise<unknown>, arrived: Arrived): void {
  const timer = setTimeout(() => {
    runner.watch().catch((error: unknown) => {
      arrived.onError(error);
    });
  }, WATCHED_AFTER_MS);
  void settled.then(() => {
    clearTimeout(timer);
    if (!runner.isStored) runner.close();
  });
}

/** Stores a resumable call from its beginning and has it run: its key; undefined: the session has no room for another. */
export async function storeCall(arrived: Arrived, running: Running): Promise<string | undefined> {
  const { call, session } = running;
  const key = newCallKey();
  const stored = { key, request: requestKey(call.id), said: 0, ...(await describe(arrived, running)) };
  const start = async () => (await arrived.doors.remembered(session)).start(stored, session.expires);
  const started = await persistently(start);
  return started ? key : undefined;
}

async function describe(
  { tenant, profile, token, admitted }: Arrived,
  { call, session }: Running,
): Promise<Pick<NewCall, "record" | "fallback">> {
  const { id, method, params } = call;
  const { unofficial, capabilities, nonce, expires } = session;
  const record: CallRecord = {
    tenant,
    profile,
    keyHash: token === null ? null : (keptHash(token) ?? (await hashToken(token))),
    principal: admitted.principal.id,
    revision: session.dialect.revision,
    session: { unofficial, capabilities, nonce, expires },
    call: { id, method, params },
  };
  return {
    record: JSON.stringify(record),
    fallback: encodeFailure(id, failure("internal", "Internal error: the call could not be run to its end"), "2025")
      .json,
  };
}
