// Runs one call to its encoded response. Exceptions end here, and the lease is checked here for the last time before a
// method runs.

import type { CompletedCall } from "../deployment/deployment.ts";
import type { McpRequest } from "../protocol/mcp-request.ts";
import { dispatch, encodeOutcome, encodeFailure, type EncodedResponse } from "../protocol/dispatch.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import type { CallOutcome } from "../protocol/call-outcome.ts";
import { isFailure } from "../protocol/methods/params.ts";
import { MEMORY_BUDGET, MEMORY_RETRY_AFTER_S, SMALL_BYTES } from "../tenants/cache/memory-budget.ts";
import { authorizeRequest } from "./authorize-request.ts";
import type { AuthorizedRequest } from "./authorized-request.ts";
import { concurrencyFailure, concurrencyOf, notifyLimitExceeded } from "./rate-limit.ts";
import { failureOf } from "./failure-of-error.ts";
import { isHandlerMethod, runAroundForRejected } from "./rejected-calls.ts";

export const NO_MEMORY: Failure = {
  ...failure("busy", "Temporarily unavailable: other requests use too much memory, try again"),
  retryAfter: MEMORY_RETRY_AFTER_S,
};

/** Never rejects: an exception becomes an error response that says no more than the error table does. */
export async function handleRequest(authorized: AuthorizedRequest, call: McpRequest): Promise<EncodedResponse> {
  const concurrency = concurrencyOf(authorized);
  const { concurrentCalls } = authorized.limits;
  const ticket = concurrency.acquire(concurrentCalls, Date.now());
  if (ticket === undefined) {
    const rejection = concurrencyFailure(authorized, "concurrentCalls");
    if (authorized.around && isHandlerMethod(call)) await runAroundForRejected(authorized, call, rejection);
    return reportCompleted({
      requestScope: authorized,
      call,
      response: encodeFailure(call.id, rejection, call.revision.era),
    });
  }
  try {
    return await handleCountedRequest(authorized, call);
  } finally {
    concurrency.release(ticket);
  }
}

function resultTooLong(authorized: AuthorizedRequest): Failure {
  const { resultBytes: most } = authorized.limits;
  notifyLimitExceeded(authorized, { name: "resultBytes", most });
  const message = `Refused: the answer is longer than the limit resultBytes, ${most} bytes`;
  return failure("refused", message, { limit: "resultBytes", most });
}

/**
 * Replaces a response that exceeds the tenant's limit, or the memory available until the client has read it, by an
 * error.
 */
function checkResultSize(
  authorized: AuthorizedRequest,
  { id, revision: { era } }: McpRequest,
  encoded: EncodedResponse,
): EncodedResponse {
  const { json } = encoded;
  if (!isWithin(json, authorized.limits.resultBytes)) return encodeFailure(id, resultTooLong(authorized), era);
  if (json.length <= SMALL_BYTES) return encoded;
  const clientAddress = authorized.context.clientAddress;
  // One client's response may take more than half of the whole budget, but not another client's share: the client's
  // earlier reservations count twice.
  return MEMORY_BUDGET.fits(json.length + MEMORY_BUDGET.reservedFor(clientAddress))
    ? { ...encoded, clientAddress }
    : encodeFailure(id, NO_MEMORY, era);
}

/** UTF-8 takes up to three bytes for a UTF-16 code unit; the exact count is taken only if that could exceed `most`. */
export function isWithin(json: string, most: number): boolean {
  if (json.length * 3 <= most) return true;
  return json.length <= most && encoder.encode(json).byteLength <= most;
}

const encoder = new TextEncoder();

async function runMethod(authorized: AuthorizedRequest, call: McpRequest): Promise<CallOutcome> {
  const { handlers, view, context } = authorized;
  return context.envelope
    ? context.envelope.answer(call, { view, handlers, requestScope: authorized })
    : dispatch(call, handlers);
}

/** If nothing was found, no `around` hook has run yet; the hooks run now, with the rejection. */
async function runWithAround(authorized: AuthorizedRequest, call: McpRequest): Promise<CallOutcome> {
  const lookup = { isFound: false };
  const outcome = await runMethod(authorized, { ...call, lookup });
  if (!lookup.isFound) await runAroundForRejected(authorized, call, outcome);
  return outcome;
}

/**
 * Resolves to the response after the observers of calls have been notified. For a stored call, which may run several
 * times, only the final run notifies them.
 */
export async function reportCompleted(
  completed: CompletedCall & { readonly requestScope: AuthorizedRequest; readonly call: McpRequest },
): Promise<EncodedResponse> {
  const { call, requestScope, response } = completed;
  const { telemetry, deployment } = requestScope.context;
  if (!telemetry && !deployment.onCallCompleted) return response;
  if ((await call.clientRequester?.isFinalRun?.()) ?? true) {
    telemetry?.recordCall(call, response);
    await deployment.onCallCompleted?.(completed);
  }
  return response;
}

/** Runs a call that already counts towards the limit of concurrent calls. */
export async function handleCountedRequest(authorized: AuthorizedRequest, call: McpRequest): Promise<EncodedResponse> {
  const { context } = authorized;
  context.beginWork();
  context.method = call.method;
  try {
    // The request may have waited since its authorization, for a session or for other messages of its batch.
    const reauthorized = authorized.isLeased ? authorized : await authorizeRequest(context);
    if (isFailure(reauthorized))
      return await reportCompleted({
        requestScope: authorized,
        call,
        response: encodeFailure(call.id, reauthorized, call.revision.era),
      });
    const outcome = await (reauthorized.around && isHandlerMethod(call)
      ? runWithAround(reauthorized, call)
      : runMethod(reauthorized, call));
    const encoded = encodeOutcome(call.id, outcome, call.revision, reauthorized.view.server);
    // The request's event is emitted when all its work is done.
    return await reportCompleted({
      requestScope: reauthorized,
      call,
      response: checkResultSize(reauthorized, call, encoded),
      outcome,
    });
  } catch (error) {
    authorized.onError(error);
    const failureResponse = encodeFailure(call.id, failureOf(error, context.request), call.revision.era);
    return await reportCompleted({ requestScope: authorized, call, response: failureResponse });
  } finally {
    context.endWork();
  }
}
