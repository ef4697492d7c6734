// Runs a stored call in an invocation that its session object started. The call is authorized anew, has the results of
// earlier runs, and writes all its output to the log.

import type { Credential } from "../../auth/credential.ts";
import { ANONYMOUS } from "../../auth/principal.ts";
import { NO_CREDENTIAL } from "../../auth/credential.ts";
import type { McpRequest } from "../../protocol/mcp-request.ts";
import { HOPS_HEADER } from "../../outbound/hops.ts";
import { encodeFailure } from "../../protocol/dispatch.ts";
import { REVISION_FEATURES } from "../../protocol/revisions.ts";
import { AppError } from "../../protocol/app-error.ts";
import { failure, type Failure } from "../../protocol/errors.ts";
import { isFailure } from "../../protocol/methods/params.ts";
import { progressTokenOf } from "../../protocol/meta.ts";
import type { Deployment } from "../../deployment/deployment.ts";
import type { StoredRun } from "../../sessions/stored-calls.ts";
import { CallRunner, requestKey, type RunnerHost } from "../../sessions/call-runner.ts";
import { sessionStub } from "../../sessions/session-stub.ts";
import type { ResumeRequest } from "../../sessions/session-object.ts";
import type { CallRecord } from "../../sessions/store-call.ts";
import { withRetries } from "../../streams/with-retries.ts";
import { OTHER_RELEASE } from "../../tenants/object/tenant-uid.ts";
import { MEMORY_BUDGET, SMALL_BYTES } from "../../tenants/cache/memory-budget.ts";
import { parsedMemory } from "../body.ts";
import { handleCountedRequest, NO_MEMORY, reportCompleted } from "../handle-request.ts";
import { CallOutput, NULL_CHANNEL } from "../call-output.ts";
import { authorizeRequest, authorizeWithRetry } from "../authorize-request.ts";
import type { AuthorizedRequest } from "../authorized-request.ts";
import { findTenant } from "../find-tenant.ts";
import { setRequestId } from "../../telemetry/request-id.ts";
import { withTelemetry, RequestContext, type Invocation } from "../request-context.ts";
import { isStillAuthorized, requestedTool } from "./run-call.ts";

/** How long such a run waits for a person. A longer wait would only keep the session object awake. */
const PARK_AFTER_MS = 1000;

/** Finds the Worker that accepted a call, by its mount path; undefined if this script no longer has one there. */
export type DeploymentLookup = (mount: string) => Deployment | undefined;

const TENANT_UNAVAILABLE = failure(
  "unavailable",
  "Service unavailable: this tenant cannot be served now, and the call did not go on",
);

/**
 * Resolves when the call has ended, or when this run left it to another run. Resolves to an error response for the
 * client if the tenant could not be reached or memory is short, so that nothing was run. Rejects if the run was lost.
 */
export async function resumeCall(
  findDeployment: DeploymentLookup,
  invocation: Invocation,
  order: ResumeRequest,
): Promise<string | undefined> {
  const { key, attempt, session, jurisdiction } = order;
  const object = () => sessionStub(invocation.env, session, jurisdiction);
  const stored = await withRetries<StoredRun | undefined>(async () => object().take(key, attempt));
  if (!stored) return undefined;
  const record = JSON.parse(stored.record) as CallRecord;
  if (record.format !== undefined) throw new Error(OTHER_RELEASE);
  const reservation = MEMORY_BUDGET.createReservation(`tenant ${record.tenant}`);
  const isLarge = stored.record.length > SMALL_BYTES;
  if (isLarge && !reservation.resize(parsedMemory(stored.record)))
    return encodeFailure(record.call.id, NO_MEMORY, "2025").json;
  try {
    return await runStored(findDeployment, invocation, { record, claim: { object, key, attempt, stored } });
  } finally {
    reservation.release();
  }
}

async function runStored(
  findDeployment: DeploymentLookup,
  invocation: Invocation,
  { record, claim }: { readonly record: CallRecord; readonly claim: RunClaim },
): Promise<string | undefined> {
  const deployment = findDeployment(record.mount);
  // The request that started the call is gone; without this, a loop of tools would restart its hop count.
  invocation.request.headers.set(HOPS_HEADER, String(record.hops));
  setRequestId(invocation.request, record.requestId);
  const reauthorized = deployment
    ? await reauthorizeCall(deployment, invocation, record)
    : { entered: failure("unknownTenant") };
  if (!reauthorized) return encodeFailure(record.call.id, TENANT_UNAVAILABLE, "2025").json;
  const { context, entered: authorized } = reauthorized;
  const isFinished = isFailure(authorized)
    ? await rejectStoredCall(authorized, context, record, claim)
    : await runAttempt(authorized, record, claim);
  if (isFinished) context?.telemetry?.recordResponse(new Response(), undefined);
  return undefined;
}

async function rejectStoredCall(
  reason: Failure,
  context: RequestContext | undefined,
  { call, principal }: CallRecord,
  { object, key, attempt }: RunClaim,
): Promise<boolean> {
  const response = encodeFailure(call.id, reason, "2025");
  if (context?.telemetry || context?.deployment.onCallCompleted) {
    context.rejectedPrincipal = { ...ANONYMOUS, id: principal };
    const requestScope = await authorizeRequest(context);
    if (!isFailure(requestScope)) await reportCompleted({ requestScope, call: call as McpRequest, response });
  }
  return withRetries(async () => object().finish(key, attempt, response.json));
}

interface RunClaim {
  readonly object: RunnerHost["sessionObject"];
  readonly key: string;
  readonly attempt: number;
  readonly stored: StoredRun;
}

/** Returns false if another run continues the call. */
async function runAttempt(
  authorized: AuthorizedRequest,
  record: CallRecord,
  { object, ...claim }: RunClaim,
): Promise<boolean> {
  const call = restoreRequest(authorized, record);
  const sink = new CallOutput(NULL_CHANNEL, "2025");
  const runner = CallRunner.resume(
    {
      sessionObject: object,
      expires: record.session.expires,
      request: requestKey(record.call.id),
      repeatable: requestedTool(authorized, call)?.repeatable ?? true,
      describe: () => Promise.reject(new Error("it is stored")),
      onStored: () => {},
      parkAfterMs: PARK_AFTER_MS,
      hasSameRights: () => isStillAuthorized(authorized, call),
      onCancelled: () => {
        sink.cancel();
      },
    },
    claim,
  );
  sink.divert(runner);
  await runner.watch();
  const done = await handleCountedRequest(authorized, { ...call, sink, clientRequester: runner });
  await sink.finish(done.json);
  return !runner.isStopped || runner.isCancelled;
}

/**
 * Returns undefined if the author's function or the tenant object cannot say whether the caller is still authorized.
 */
async function reauthorizeCall(
  deployment: Deployment,
  invocation: Invocation,
  record: CallRecord,
): Promise<{ readonly context?: RequestContext; readonly entered: AuthorizedRequest | Failure } | undefined> {
  try {
    const context = await withRetries(() => restoreContext(deployment, invocation, record));
    return { context, entered: await authorizeWithRetry(context) };
  } catch (error) {
    // `authorizeRequest` has reported its errors already.
    if (!(error instanceof AppError)) deployment.hooks.onError?.(error, undefined);
    return undefined;
  }
}

/** The context as the original caller's request would create it. Only the hash of the caller's key is stored. */
async function restoreContext(
  deployment: Deployment,
  invocation: Invocation,
  { tenant: id, created, profile, keyHash, person, user, owner }: CallRecord,
): Promise<RequestContext> {
  const userCredential: Credential = person ? { kind: "storedPrincipal", person } : NO_CREDENTIAL;
  const defaultCredential: Credential = user ? { kind: "app", user } : userCredential;
  const credential: Credential = keyHash === null ? defaultCredential : { kind: "storedKey", hash: keyHash };
  const tenantResult = (await findTenant(invocation.env, deployment, id)) ?? failure("unknownTenant");
  const context = new RequestContext(deployment, withTelemetry(deployment, invocation), {
    tenant: id,
    profile,
    path: "",
    credential,
    tenantResult,
  });
  context.owner = owner;
  context.isSameTenant(created);
  return context;
}

function restoreRequest(
  { sessionStubs }: AuthorizedRequest,
  { profile, principal, revision: version, session, call }: CallRecord,
): McpRequest {
  const revision = REVISION_FEATURES[version];
  return {
    ...call,
    revision,
    capabilities: session.capabilities,
    progressToken: progressTokenOf(call.params),
    logLevel: undefined,
    session: sessionStubs.sessionPort({ ...session, revision, profile, principal }),
    sink: new CallOutput(NULL_CHANNEL, "2025"),
    header: () => null,
    now: Date.now,
  };
}
