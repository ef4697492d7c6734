// Converts an exception to a failure: one of the error table, or, if unknown, one with an id by which to find it in the
// logs.

import { AppError } from "../protocol/app-error.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import { requestIdOf } from "../telemetry/request-id.ts";
import { UNRELEASED } from "../tenants/object/tenant-uid.ts";
import { isUnreleased, isTransientError } from "../tenants/cache/retry-if-idempotent.ts";

const MIN_RETRY_S = 5;
const SPREAD_S = 10;

/** Seconds until a retry, jittered: clients rejected at the same moment must not all return at the same moment. */
export function jitteredRetryAfter(): number {
  return MIN_RETRY_S + Math.floor(Math.random() * (SPREAD_S + 1));
}

export function failureOf(error: unknown, request: Request): Failure {
  if (error instanceof AppError && error.cause === undefined) return error.toFailure();
  const data = { requestId: requestIdOf(request) };
  // Its cause is in the logs.
  if (error instanceof AppError) return { data, ...error.toFailure() };
  return isTransientError(error)
    ? {
        ...failure("unavailable", isUnreleased(error) ? UNRELEASED : undefined, data),
        retryAfter: jitteredRetryAfter(),
      }
    : failure("internal", undefined, data);
}
