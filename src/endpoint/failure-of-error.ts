// Owns what an exception becomes: the error table's answer, and for the unknown an id to find it by in the logs.

import { AppError } from "../protocol/app-error.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import { requestIdOf } from "../telemetry/request-id.ts";
import { UNRELEASED } from "../tenants/object/tenant-uid.ts";
import { isUnreleased, isTransientError } from "../tenants/cache/retry-if-idempotent.ts";

const MIN_RETRY_S = 5;
const SPREAD_S = 10;

/** Whole seconds after which to come again, jittered: who is refused at the same moment does not come back at the same moment. */
export function jitteredRetryAfter(): number {
  return MIN_RETRY_S + Math.floor(Math.random() * (SPREAD_S + 1));
}

export function failureOf(error: unknown, request: Request): Failure {
  if (error instanceof AppError && error.cause === undefined) return error.toFailure();
  const data = { requestId: requestIdOf(request) };
  // What stood behind it is in the logs.
  if (error instanceof AppError) return { data, ...error.toFailure() };
  return isTransientError(error)
    ? {
        ...failure("unavailable", isUnreleased(error) ? UNRELEASED : undefined, data),
        retryAfter: jitteredRetryAfter(),
      }
    : failure("internal", undefined, data);
}
