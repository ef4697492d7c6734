// Owns which calls to an object are made a second time where the platform says that they may be: a deployment resets every
// object, and whoever called it just then would be told so. Refuses what would be another write, and what an object has too much of already.

import { OTHER_RELEASE, UNRELEASED } from "../authority/incarnation.ts";

/** What changes nothing, or the same once more. Features add theirs. Calls whose doors try for longer by themselves are not among them. */
const REPEATABLE = new Set(
  callsIn({
    policy: "lease sealedSecret",
    authority: "claim exists settle",
    // A call that was counted and not heard of counts twice: there are fewer calls that day, never more.
    limits: "take",
    sections: "body has",
    content: "get copy holds part list listSeen search tags uris stored",
    directory: "lookup hostname",
  }),
);

/** By the name of the tables, their methods. */
type Calls = Readonly<Record<string, string>>;

function callsIn(calls: Calls): string[] {
  return Object.entries(calls).flatMap(([tables, methods]) =>
    methods.split(" ").map((method) => `${tables}.${method}`),
  );
}

/** Those of a feature, from when a Worker has it. */
export function askAgain(calls: Calls): void {
  for (const call of callsIn(calls)) REPEATABLE.add(call);
}

/** An object that was reset is there again by then; those who wait for it do not come all at once. */
const LEAST_MS = 20;
const SPREAD_MS = 80;

/** Resolves when the call (`TABLES.METHOD`) is to be made again, with a new stub: the one that failed may be of no more use. */
export async function beforeAnother(call: string, error: unknown): Promise<void> {
  if (!REPEATABLE.has(call) || !mayRepeat(error)) throw error;
  await scheduler.wait(LEAST_MS + Math.random() * SPREAD_MS);
}

function mayRepeat(error: unknown): boolean {
  return isRetryable(error) && !isOverloaded(error);
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

/** Said by an object of another release, or of a method that its code does not have, as the platform does. */
const SKEWED = new RegExp(`${OTHER_RELEASE}$|^no method|RPC receiver does not implement`);

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

/** The same for calls that no stub of a tenant makes. */
export async function askedAgain<T>(call: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    await beforeAnother(call, error);
    return ask();
  }
}
