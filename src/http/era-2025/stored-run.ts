// Owns running a stored call in an invocation that its session's object started: admitted anew, with what earlier runs
// kept, and everything it says going into the log.

import type { Credential } from "../../auth/credential.ts";
import { ANONYMOUS } from "../../auth/principal.ts";
import { NO_CREDENTIAL } from "../../auth/credential.ts";
import type { Call } from "../../protocol/call.ts";
import { HOPS } from "../../outbound/hops.ts";
import { encodeFailure } from "../../protocol/dispatch.ts";
import { DIALECTS } from "../../protocol/era.ts";
import { AppError } from "../../protocol/app-error.ts";
import { failure, type Failure } from "../../protocol/errors.ts";
import { isFailure } from "../../protocol/methods/params.ts";
import { progressTokenOf } from "../../protocol/meta.ts";
import type { Deployment } from "../../deployment/deployment.ts";
import type { StoredRun } from "../../sessions/call-desk.ts";
import { CallRunner, requestKey, type RunnerHost } from "../../sessions/call-runner.ts";
import { sessionStub } from "../../sessions/session-door.ts";
import type { RunOrder } from "../../sessions/session-object.ts";
import type { CallRecord } from "../../sessions/stored-call.ts";
import { persistently } from "../../streams/persistently.ts";
import { OTHER_RELEASE } from "../../tenants/authority/incarnation.ts";
import { answerCounted, heard } from "../answer.ts";
import { CallSink, SILENT } from "../call-sink.ts";
import { enter, enterPatiently } from "../enter.ts";
import type { Entered } from "../entered.ts";
import { findTenant } from "../find-tenant.ts";
import { nameRequest } from "../../telemetry/request-id.ts";
import { observed, Visit, type Invocation } from "../visit.ts";
import { isUnchanged, toolOf } from "./calls.ts";

/** How long such a run waits for a person. Longer would keep the object that started it awake for nothing. */
const PARKS_AFTER_MS = 1000;

/** The deployment that took a call, by where it is mounted; undefined: this script has none there any more. */
export type MountedAt = (mount: string) => Deployment | undefined;

const AWAY = failure(
  "unavailable",
  "Service unavailable: this tenant cannot be served now, and the call did not go on",
);

/**
 * Resolves when the call has ended, or when this run left it to another; with an answer for its client where its tenant could
 * not be asked about, so that nothing was run; rejects when the run was lost.
 */
export async function runStored(
  mountedAt: MountedAt,
  invocation: Invocation,
  order: RunOrder,
): Promise<string | undefined> {
  const { key, attempt, session, jurisdiction } = order;
  const object = () => sessionStub(invocation.env, session, jurisdiction);
  const stored = await persistently<StoredRun | undefined>(async () => object().take(key, attempt));
  if (!stored) return undefined;
  const record = JSON.parse(stored.record) as CallRecord;
  if (record.format !== undefined) throw new Error(OTHER_RELEASE);
  const deployment = mountedAt(record.mount);
  // The request that began the call is gone, and a circle of tools must not begin to count anew.
  invocation.request.headers.set(HOPS, String(record.hops));
  nameRequest(invocation.request, record.requestId);
  const met = deployment ? await enterAgain(deployment, invocation, record) : { entered: failure("unknownTenant") };
  if (!met) return encodeFailure(record.call.id, AWAY, "2025").json;
  const { visit, entered } = met;
  const taken = { object, key, attempt, stored };
  const isEnd = isFailure(entered) ? await refuse(entered, visit, record, taken) : await runIn(entered, record, taken);
  if (isEnd) visit?.trail?.answered(new Response(), undefined);
  return undefined;
}

async function refuse(
  why: Failure,
  visit: Visit | undefined,
  { call, principal }: CallRecord,
  { object, key, attempt }: Taken,
): Promise<boolean> {
  const answer = encodeFailure(call.id, why, "2025");
  if (visit?.trail || visit?.deployment.heard) {
    visit.noted = { ...ANONYMOUS, id: principal };
    const host = await enter(visit);
    if (!isFailure(host)) await heard({ host, call: call as Call, answer });
  }
  return persistently(async () => object().finish(key, attempt, answer.json));
}

interface Taken {
  readonly object: RunnerHost["object"];
  readonly key: string;
  readonly attempt: number;
  readonly stored: StoredRun;
}

/** false: another run goes on with the call. */
async function runIn(entered: Entered, record: CallRecord, { object, ...taken }: Taken): Promise<boolean> {
  const call = callOf(entered, record);
  const sink = new CallSink(SILENT, "2025");
  const runner = CallRunner.resume(
    {
      object,
      expires: record.session.expires,
      request: requestKey(record.call.id),
      repeatable: toolOf(entered, call)?.repeatable ?? true,
      describe: () => Promise.reject(new Error("it is stored")),
      stored: () => {},
      parksAfterMs: PARKS_AFTER_MS,
      unchanged: () => isUnchanged(entered, call),
      cancelled: () => {
        sink.cancel();
      },
    },
    taken,
  );
  sink.divert(runner);
  await runner.watch();
  const done = await answerCounted(entered, { ...call, sink, questions: runner });
  await sink.finish(done.json);
  return !runner.left || runner.isCancelled;
}

/** undefined: the author's function or the tenant's authority cannot say whether they may come in. */
async function enterAgain(
  deployment: Deployment,
  invocation: Invocation,
  record: CallRecord,
): Promise<{ readonly visit?: Visit; readonly entered: Entered | Failure } | undefined> {
  try {
    const visit = await persistently(() => visitOf(deployment, invocation, record));
    return { visit, entered: await enterPatiently(visit) };
  } catch (error) {
    // What `enter` met was told already.
    if (!(error instanceof AppError)) deployment.hooks.onError?.(error, undefined);
    return undefined;
  }
}

/** The visit that the original caller would make again. Of their key only the hash was kept. */
async function visitOf(
  deployment: Deployment,
  invocation: Invocation,
  { tenant: id, created, profile, keyHash, person, user, owner }: CallRecord,
): Promise<Visit> {
  const named: Credential = person ? { kind: "keptPerson", person } : NO_CREDENTIAL;
  const nobody: Credential = user ? { kind: "app", user } : named;
  const credential: Credential = keyHash === null ? nobody : { kind: "keptKey", hash: keyHash };
  const known = (await findTenant(invocation.env, deployment, id)) ?? failure("unknownTenant");
  const visit = new Visit(deployment, observed(deployment, invocation), {
    tenant: id,
    profile,
    path: "",
    credential,
    known,
  });
  visit.owner = owner;
  visit.isTo(created);
  return visit;
}

function callOf({ doors }: Entered, { profile, principal, revision, session, call }: CallRecord): Call {
  const dialect = DIALECTS[revision];
  return {
    ...call,
    dialect,
    capabilities: session.capabilities,
    progressToken: progressTokenOf(call.params),
    logLevel: undefined,
    session: doors.sessionPort({ ...session, dialect, profile, principal }),
    sink: new CallSink(SILENT, "2025"),
    header: () => null,
    now: Date.now,
  };
}
