// Owns when a call to an object is made a second time: where the platform says that it may be. A deployment resets every object, and
// whoever called it just then would be told so. Refuses what an object has too much of already. Which calls may be, their tables say.

import { OTHER_RELEASE, UNRELEASED } from "../../telemetry/fault-line.ts";

/** An object that was reset is there again by then; those who wait for it do not come all at once. */
const LEAST_MS = 20;
const SPREAD_MS = 80;

/** Resolves when an idempotent call is to be made again, with a new stub: the one that failed may be of no more use. */
export async function beforeAnother(error: unknown): Promise<void> {
  if (!isRetryable(error) || isOverloaded(error)) throw error;
  await scheduler.wait(LEAST_MS + Math.random() * SPREAD_MS);
}

/** Whether the platform says that the same call may be answered in a moment: it marks lost connections so, and resets. */
export function isRetryable(error: unknown): boolean {
  const said = error as { readonly retryable?: unknown; readonly durableObjectReset?: unknown } | null | undefined;
  return said?.retryable === true || said?.durableObjectReset === true;
}

/** Whether it says that an object has too much to do. */
export function isOverloaded(error: unknown): boolean {
  return (error as { readonly overloaded?: unknown } | null | undefined)?.overloaded === true;
}

/** Said by an object of another release; by the platform of a method that its code does not have. */
const SKEWED = new RegExp(`${OTHER_RELEASE}$|RPC receiver does not implement`);

/**
 * Whether the platform says that an object has too much to do, or that the same call may be answered in a moment; or the object
 * is of another release than this Worker, until one of the two is deployed everywhere.
 */
export function mayPass(error: unknown): boolean {
  if (isOverloaded(error)) return true;
  return isRetryable(error) || isSkewed(error) || isUnreleased(error);
}

/** Whether storage was refused that no release made. Waiting does not end that. */
export function isUnreleased(error: unknown): boolean {
  return error instanceof Error && (error.message === UNRELEASED || isUnreleased(error.cause));
}

/** Whether the object is of another release than this Worker. */
function isSkewed(error: unknown): boolean {
  return error instanceof Error && SKEWED.test(error.message);
}

/** For an idempotent call that no stub of a tenant makes. `ask` makes a new stub each time. */
export async function askedAgain<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    await beforeAnother(error);
    return ask();
  }
}
