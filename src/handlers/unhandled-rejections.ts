// Reports promises that reject while no code awaits them; the platform does not report them. Tracking which call a
// promise belongs to starts after the first such rejection in an isolate, because tracking costs every call.

import type { HandlerCall, Hooks } from "./request-scope.ts";
import { eventOf } from "./error-outcome.ts";

/** The part of `AsyncLocalStorage` that is used. */
interface CallStorage {
  run<T>(origin: HandlerCall, work: () => T): T;
  getStore(): HandlerCall | undefined;
}

declare const process: {
  getBuiltinModule?(name: "node:async_hooks"): { readonly AsyncLocalStorage: new () => CallStorage } | undefined;
};

/**
 * `current` is undefined until the first unhandled rejection. Promises of a call that runs in it are attributed to that
 * call.
 */
export const callStorage: { current: CallStorage | undefined } = { current: undefined };
let isListening = false;

/** The hooks of all Workers in this isolate, for promises that belong to no known call. Bound: one for each Worker. */
const errorHooks: NonNullable<Hooks["onError"]>[] = [];

/** `onError` gets the rejections that belong to no known call. */
export function reportUnhandledRejections(onError: Hooks["onError"]): void {
  if (onError) errorHooks.push(onError);
  if (isListening) return;
  isListening = true;
  addEventListener("unhandledrejection", ({ reason }) => {
    const origin = callStorage.current?.getStore();
    const error = new Error(`a promise was rejected and not awaited: ${String(reason)}`, { cause: reason });
    if (origin) origin.requestScope.hooks.onError?.(error, eventOf(origin));
    else for (const report of errorHooks) report(error, undefined);
    callStorage.current ??= createCallStorage();
  });
}

/** Returns undefined with compatibility dates before 2026 that lack the flag `nodejs_compat`. */
function createCallStorage(): CallStorage | undefined {
  try {
    const module = process.getBuiltinModule?.("node:async_hooks");
    return module && new module.AsyncLocalStorage();
  } catch {
    return undefined;
  }
}
