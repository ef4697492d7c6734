// Owns running a stored call in an invocation that its session's object started: admitted anew, with what earlier runs
// kept, and everything it says going into the log.

import { keptKey } from "../../auth/api-key.ts";
import type { Call } from "../../protocol/backend.ts";
import { encodeFailure } from "../../protocol/dispatch.ts";
import { DIALECTS } from "../../protocol/era.ts";
import type { Failure } from "../../protocol/errors.ts";
import { isFailure } from "../../protocol/methods/params.ts";
import { progressTokenOf } from "../../protocol/meta.ts";
import { CallRunner, requestKey } from "../../sessions/call-runner.ts";
import { type SessionStub } from "../../sessions/session-door.ts";
import { persistently } from "../../streams/persistently.ts";
import type { StoredRun } from "../../sessions/call-desk.ts";
import type { RunOrder } from "../../sessions/session-object.ts";
import { answer, type Endpoint } from "../endpoint.ts";
import type { Session } from "../../sessions/session-id.ts";
import { RequestSink } from "../call-sink.ts";
import { isUnchanged, type CallRecord } from "./stored-call.ts";

/** The object that started the run is awake until it ends: a person is not waited for there. */
const PARKS_AFTER_MS = 1000;

/** `endpointOf`: as for a request that brings this credential. */
export async function runStored(
  order: RunOrder,
  object: () => SessionStub,
  endpointOf: (tenant: string, profile: string | null, token: string | null) => Promise<Endpoint | Failure>,
): Promise<Response> {
  const { key, attempt } = order;
  const stored = await persistently<StoredRun | undefined>(async () => object().take(key, attempt));
  if (!stored) return new Response(null, { status: 204 });
  const record = JSON.parse(stored.record) as CallRecord;
  const { tenant, profile, keyHash } = record;
  const endpoint = await endpointOf(tenant, profile, keyHash === null ? null : keptKey(keyHash));
  const admission = isFailure(endpoint) ? endpoint : await admitAgain(endpoint);
  if (isFailure(endpoint) || isFailure(admission)) {
    const refused = encodeFailure(record.call.id, admission as Failure, "2025");
    await persistently(async () => object().finish(key, attempt, refused.json));
    return new Response(null, { status: 204 });
  }
  const sink = new RequestSink(undefined, "2025", false);
  const runner = CallRunner.resume(
    {
      object,
      expires: record.session.expires,
      request: requestKey(record.call.id),
      describe: () => Promise.reject(new Error("it is stored")),
      stored: () => {},
      parksAfterMs: PARKS_AFTER_MS,
      unchanged: () => isUnchanged(endpoint, admission.snapshot),
      cancelled: () => {
        sink.cancel();
      },
    },
    { key, attempt, stored },
  );
  sink.divert(runner);
  await runner.watch();
  const arriving = { ...endpoint, served: endpoint.backend(admission.admitted, admission.snapshot) };
  const done = await answer(arriving, callOf(endpoint, record, { sink, runner }));
  await sink.finish(done.json);
  return new Response(null, { status: 204 });
}

async function admitAgain(endpoint: Endpoint) {
  const snapshot = await endpoint.snapshot();
  const admitted = isFailure(snapshot) ? snapshot : endpoint.admit(snapshot);
  return isFailure(snapshot) || isFailure(admitted) ? (admitted as Failure) : { snapshot, admitted };
}

function callOf(
  { doors }: Endpoint,
  { revision, session, call }: CallRecord,
  { sink, runner }: { readonly sink: RequestSink; readonly runner: CallRunner },
): Call {
  const dialect = DIALECTS[revision];
  const whole: Session = { ...session, dialect, profile: null, principal: "" };
  return {
    ...call,
    dialect,
    capabilities: session.capabilities,
    progressToken: progressTokenOf(call.params),
    logLevel: undefined,
    session: doors.sessionPort(whole),
    questions: runner,
    sink,
    header: () => null,
    now: Date.now,
  };
}
