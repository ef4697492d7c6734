// Owns when a call to an object is made a second time: where the platform says that it may be. A deployment resets every object, and
// whoever called it just then would be told so. Refuses what an object has too much of already. Which calls may be, their tables say.

import { OTHER_RELEASE, UNRELEASED } from "../../telemetry/error-line.ts";

/** An object that was reset is there again by then; those who wait for it do not come all at once. */
const RETRY_AFTER_MS = 20;
const JITTER_MS = 80;

/** Resolves when an idempotent call is to be made again, with a new stub: the one that failed may be of no more use. */
export async function waitBeforeRetry(error: unknown): Promise<void> {
  if (!isRetryable(error) || isOverloaded(error)) throw error;
  await scheduler.wait(RETRY_AFTER_MS + Math.random() * JITTER_MS);
}

/** Whether the platform says that the same call may be answered in a moment: it marks lost connections so, and resets. */
export function isRetryable(error: unknown): boolean {
  const flags = error as { readonly retryable?: unknown; readonly durableObjectReset?: unknown } | null | undefined;
  return flags?.retryable === true || flags?.durableObjectReset === true;
}

/** Whether it says that an object has too much to do. */
export function isOverloaded(error: unknown): boolean {
  return (error as { readonly overloaded?: unknown } | null | undefined)?.overloaded === true;
}

/** Said by an object of another release; by the platform of a method that its code does not have. */
const OTHER_RELEASE_ERROR = new RegExp(`${OTHER_RELEASE}$|RPC receiver does not implement`);

/**
 * Whether the platform says that an object has too much to do, or that the same call may be answered in a moment; or the object
 * is of another release than this Worker, until one of the two is deployed everywhere.
 */
export function isTransientError(error: unknown): boolean {
  if (isOverloaded(error)) return true;
  return isRetryable(error) || isOfOtherRelease(error) || isUnreleased(error);
}

/** Whether storage was refused that no release made. Waiting does not end that. */
export function isUnreleased(error: unknown): boolean {
  return error instanceof Error && (error.message === UNRELEASED || isUnreleased(error.cause));
}

/** Whether the object is of another release than this Worker. */
function isOfOtherRelease(error: unknown): boolean {
  return error instanceof Error && OTHER_RELEASE_ERROR.test(error.message);
}

/** For an idempotent call that no stub of a tenant makes. `ask` makes a new stub each time. */
export async function retryIfIdempotent<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    await waitBeforeRetry(error);
    return call();
  }
}
