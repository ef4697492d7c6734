// Retries a call to an object once if the platform says that it may succeed. A deployment resets every object, and
// callers at that moment would get an error. An overloaded object is not called again. The RPC tables say which calls
// are idempotent.

import { OTHER_RELEASE, UNRELEASED } from "../../telemetry/error-line.ts";

/** By then an object that was reset is back. The jitter keeps waiting callers from returning all at once. */
const RETRY_AFTER_MS = 20;
const JITTER_MS = 80;

/**
 * Resolves when an idempotent call should be repeated, with a new stub: the failed stub may stay broken. Rethrows other
 * errors.
 */
export async function waitBeforeRetry(error: unknown): Promise<void> {
  if (!isRetryable(error) || isOverloaded(error)) throw error;
  await scheduler.wait(RETRY_AFTER_MS + Math.random() * JITTER_MS);
}

/**
 * Whether the platform says that the same call may succeed in a moment. It marks lost connections and resets this way.
 */
export function isRetryable(error: unknown): boolean {
  const flags = error as { readonly retryable?: unknown; readonly durableObjectReset?: unknown } | null | undefined;
  return flags?.retryable === true || flags?.durableObjectReset === true;
}

export function isOverloaded(error: unknown): boolean {
  return (error as { readonly overloaded?: unknown } | null | undefined)?.overloaded === true;
}

/** Messages of an object of another release. The platform sends the second one if the object's code lacks a method. */
const OTHER_RELEASE_ERROR = new RegExp(`${OTHER_RELEASE}$|RPC receiver does not implement`);

/**
 * Whether the call may succeed later: the object is overloaded, was reset, or is of another release than this Worker,
 * until one of the two is deployed everywhere.
 */
export function isTransientError(error: unknown): boolean {
  if (isOverloaded(error)) return true;
  return isRetryable(error) || isOfOtherRelease(error) || isUnreleased(error);
}

/** Whether storage was refused because no release made it. Waiting does not help. */
export function isUnreleased(error: unknown): boolean {
  return error instanceof Error && (error.message === UNRELEASED || isUnreleased(error.cause));
}

function isOfOtherRelease(error: unknown): boolean {
  return error instanceof Error && OTHER_RELEASE_ERROR.test(error.message);
}

/** For an idempotent call that is not made through a tenant stub. `call` makes a new stub each time. */
export async function retryIfIdempotent<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    await waitBeforeRetry(error);
    return call();
  }
}
