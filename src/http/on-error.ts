// Owns what an exception becomes: the error table's answer, and for the unknown an id to find it by in the logs.

import { AppError } from "../protocol/app-error.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import { mayPass } from "../tenants/isolate/outage.ts";

const RETRY_AFTER_S = 5;

export function failureOf(error: unknown, request: Request): Failure {
  if (error instanceof AppError && error.cause === undefined) return error.toFailure();
  const data = { requestId: requestIdOf(request) };
  // What stood behind it is in the logs.
  if (error instanceof AppError) return { data, ...error.toFailure() };
  return mayPass(error)
    ? { ...failure("unavailable", undefined, data), retryAfter: RETRY_AFTER_S }
    : failure("internal", undefined, data);
}

const ids = new WeakMap<Request, string>();

/** A request that goes on with the work of another one has its id. */
export function nameRequest(request: Request, id: string): void {
  ids.set(request, id);
}

/**
 * Cloudflare's ray where there is one, so that its logs and ours agree; made only when somebody needs it. Elsewhere whoever
 * asks may write one.
 */
export function requestIdOf(request: Request): string {
  let id = ids.get(request);
  if (id === undefined) {
    const ray = request.headers.get("cf-ray") ?? "";
    id = /^[\w-]{1,64}$/.test(ray) ? ray : crypto.randomUUID();
    ids.set(request, id);
  }
  return id;
}
