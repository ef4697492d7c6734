// Owns hearing of promises that were rejected while nobody waited for them: the platform says nothing of these. Whose they
// are is asked of the platform from the first one on that this isolate heard of, because each call would pay for it.

import type { Hooks } from "./request-scope.ts";
import { eventOf } from "./error-outcome.ts";

/** Whose it is. */
type CallOrigin = Parameters<typeof eventOf>[0];

/** `AsyncLocalStorage`, as much of it as is used. */
interface CallStorage {
  run<T>(origin: CallOrigin, work: () => T): T;
  getStore(): CallOrigin | undefined;
}

declare const process: {
  getBuiltinModule?(name: "node:async_hooks"): { readonly AsyncLocalStorage: new () => CallStorage } | undefined;
};

/** `calls`: undefined until one was lost. What is run in it is known by what it lets go. */
export const callStorage: { current: CallStorage | undefined } = { current: undefined };
let isListening = false;

/** The hooks of all Workers in this isolate: of a promise that no call let go, nobody knows whose it is. Bound: one for each Worker. */
const errorHooks: NonNullable<Hooks["onError"]>[] = [];

/** `onError`: of promises that no call let go. */
export function reportUnhandledRejections(onError: Hooks["onError"]): void {
  if (onError) errorHooks.push(onError);
  if (isListening) return;
  isListening = true;
  addEventListener("unhandledrejection", ({ reason }) => {
    const origin = callStorage.current?.getStore();
    const error = new Error(`nobody waited for a promise that was rejected: ${String(reason)}`, { cause: reason });
    if (origin) origin.requestScope.hooks.onError?.(error, eventOf(origin));
    else for (const report of errorHooks) report(error, undefined);
    callStorage.current ??= createCallStorage();
  });
}

/** Absent before compatibility dates of 2026, without the flag `nodejs_compat`. */
function createCallStorage(): CallStorage | undefined {
  try {
    const module = process.getBuiltinModule?.("node:async_hooks");
    return module && new module.AsyncLocalStorage();
  } catch {
    return undefined;
  }
}
