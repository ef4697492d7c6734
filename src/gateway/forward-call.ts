// Runs one call to an upstream: local limits, circuit breaker, access token, retries and the mapping of errors. A call
// that may have run is not sent again unless it is repeatable.

import type { RequestScope } from "../handlers/request-scope.ts";
import { bindingOf, openUpstreamState, readResponses } from "../handlers/request-state.ts";
import { McpFault } from "../mcp-client/fault.ts";
import type { McpRequest } from "../protocol/mcp-request.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import { isFailure } from "../protocol/methods/params.ts";
import type { CallOutcome } from "../protocol/call-outcome.ts";
import { Deadline } from "./call-deadline.ts";
import { AccessTokenError, type TokenOptions } from "./guard/access-token.ts";
import { ResponseBudget } from "./guard/response-budget.ts";
import { upstreamCalls } from "./guard/fair-semaphore.ts";
import { CircuitGate } from "./guard/circuit-gate.ts";
import { Redaction } from "./guard/redaction.ts";
import { MissingServiceError } from "./guard/service-binding.ts";
import { createTokenFetch } from "./upstream-fetch.ts";
import { upstreamsBusyFailure, faultToFailure } from "./upstream-error.ts";
import { missingSecretReason } from "./read-failure.ts";
import { resolveHeaders, withToken, type AuthorizedHeaders } from "./upstream-config.ts";
import { timeoutOf } from "./upstream-rules.ts";
import {
  callErrorContextOf,
  UpstreamCall,
  type UpstreamTarget,
  type ForwardContext,
  type ForwardRequest,
  type PreviousAttempt,
} from "./upstream-call.ts";

export async function forwardCall(
  upstream: UpstreamTarget,
  forwarded: ForwardRequest,
  call: McpRequest,
  requestScope: RequestScope,
): Promise<CallOutcome> {
  const resolvedRequest = await resolveRequestState(upstream, forwarded, call, requestScope);
  if (isFailure(resolvedRequest)) return resolvedRequest;
  const release = upstreamCalls.tryAcquire(requestScope.tenant);
  if (!release) return upstreamsBusyFailure();
  const deadline = new Deadline(timeoutOf(upstream.document), call.sink.cancelled);
  const responseBudget = new ResponseBudget(requestScope.tenant);
  try {
    return await attempt(
      upstream,
      { request: resolvedRequest, call, requestScope, deadline, responseBudget },
      { hasNewToken: false, retries: 0 },
    );
  } finally {
    deadline.end();
    responseBudget.release();
    release();
  }
}

/**
 * Restores the upstream's own `requestState` if the client answers its questions. For other calls these members mean
 * nothing and are dropped.
 */
async function resolveRequestState(
  { transport, configHash }: UpstreamTarget,
  forwarded: ForwardRequest,
  call: McpRequest,
  requestScope: RequestScope,
): Promise<ForwardRequest | Failure> {
  if (!("requestState" in forwarded.params || "inputResponses" in forwarded.params)) return forwarded;
  const { requestState, inputResponses: _, ...params } = forwarded.params;
  if (call.revision.era !== "2026" || transport !== "2026") return { ...forwarded, params };
  const responses = readResponses(forwarded.params);
  if (isFailure(responses)) return responses;
  const answeredRequest = { ...forwarded, params: { ...params, inputResponses: responses.value } };
  if (requestState === undefined) return answeredRequest;
  const unsealed = await openUpstreamState({ ...bindingOf(requestScope), upstream: configHash }, call, requestState);
  return isFailure(unsealed)
    ? unsealed
    : { ...answeredRequest, params: { ...answeredRequest.params, requestState: unsealed.state } };
}

async function attempt(
  upstream: UpstreamTarget,
  context: ForwardContext,
  previous: PreviousAttempt,
): Promise<CallOutcome> {
  const { requestScope, deadline } = context;
  const { tenant } = requestScope;
  const { id, configHash } = upstream;
  const headers = await resolveHeaders(upstream.document, {
    tenant,
    env: requestScope.env,
    secret: (name) => requestScope.secret(name),
    clientHeader: (name) => requestScope.clientHeader(name),
  });
  if ("missingSecret" in headers) {
    return failure("faultyServer", `${id}: ${missingSecretReason(headers.missingSecret).why}`, {
      server: id,
      fault: "secret",
    });
  }
  const timeoutMs = timeoutOf(upstream.document);
  const gate = new CircuitGate({
    tenant,
    id,
    configHash,
    timeoutMs,
    emitEvent: (event) => requestScope.emitEvent?.(requestScope, event),
  });
  const rejection = gate.check(Date.now());
  if (rejection) return rejection;
  let authorizedHeaders: AuthorizedHeaders | undefined;
  let upstreamCall: UpstreamCall | undefined;
  try {
    authorizedHeaders = await deadline.race(withToken(headers, createTokenOptions(requestScope)));
    deadline.throwIfEnded();
    upstreamCall = new UpstreamCall(upstream, authorizedHeaders, {
      ...context,
      redaction: Redaction.create(authorizedHeaders.secrets),
    });
    const outcome = await upstreamCall.run();
    if (outcome.kind !== "failure") gate.recordSuccess();
    return outcome;
  } catch (error) {
    if (!upstreamCall || !(error instanceof McpFault)) return toUnsentFailure(error, upstream, context);
    const retryAfter = gate.recordFailure(error.fault, upstreamCall.hasOutput, Date.now());
    const retry = await upstreamCall.waitForRetry(error.fault, previous);
    if (retry) return attempt(upstream, context, retry);
    return upstreamCall.toFailure(error, retryAfter);
  }
}

/** Rethrows errors that are not the upstream's. */
function toUnsentFailure(error: unknown, upstream: UpstreamTarget, context: ForwardContext): Failure {
  const { id } = upstream;
  if (error instanceof AccessTokenError || error instanceof MissingServiceError) {
    const fault = error instanceof AccessTokenError ? "token" : "service";
    return failure("faultyServer", `${id}: ${error.message}`, { server: id, fault });
  }
  if (error instanceof McpFault) return faultToFailure(error.fault, callErrorContextOf(upstream, context));
  throw error;
}

function createTokenOptions(requestScope: RequestScope): TokenOptions {
  return {
    fetch: createTokenFetch(requestScope),
    now: Date.now,
    waitUntil: (work) => {
      requestScope.waitUntil(work);
    },
  };
}
