// Owns what an exception becomes: the error table's answer, and for the unknown an id to find it by in the logs.

import { AppError } from "../protocol/app-error.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import { requestIdOf } from "../telemetry/request-id.ts";
import { UNRELEASED } from "../tenants/authority/incarnation.ts";
import { isUnreleased, mayPass } from "../tenants/isolate/outage.ts";

const RETRY_AFTER_S = 5;

export function failureOf(error: unknown, request: Request): Failure {
  if (error instanceof AppError && error.cause === undefined) return error.toFailure();
  const data = { requestId: requestIdOf(request) };
  // What stood behind it is in the logs.
  if (error instanceof AppError) return { data, ...error.toFailure() };
  return mayPass(error)
    ? { ...failure("unavailable", isUnreleased(error) ? UNRELEASED : undefined, data), retryAfter: RETRY_AFTER_S }
    : failure("internal", undefined, data);
}
