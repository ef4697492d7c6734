// Owns hearing of promises that were rejected while nobody waited for them: the platform says nothing of these. Whose they
// are is asked of the platform from the first one on that this isolate heard of, because each call would pay for it.

import type { Hooks } from "./call-host.ts";
import { eventOf } from "./fault.ts";

/** Whose it is. */
type Lost = Parameters<typeof eventOf>[0];

/** `AsyncLocalStorage`, as much of it as is used. */
interface Calls {
  run<T>(lost: Lost, work: () => T): T;
  getStore(): Lost | undefined;
}

declare const process: {
  getBuiltinModule?(name: "node:async_hooks"): { readonly AsyncLocalStorage: new () => Calls } | undefined;
};

/** `calls`: undefined until one was lost. What is run in it is known by what it lets go. */
export const owners: { calls: Calls | undefined } = { calls: undefined };
let isHeard = false;

/** The hooks of all Workers in this isolate: of a promise that no call let go, nobody knows whose it is. Bound: one for each Worker. */
const hooks: NonNullable<Hooks["onError"]>[] = [];

/** `onError`: of promises that no call let go. */
export function hearLostPromises(onError: Hooks["onError"]): void {
  if (onError) hooks.push(onError);
  if (isHeard) return;
  isHeard = true;
  addEventListener("unhandledrejection", ({ reason }) => {
    const lost = owners.calls?.getStore();
    const error = new Error(`nobody waited for a promise that was rejected: ${String(reason)}`, { cause: reason });
    if (lost) lost.host.hooks.onError?.(error, eventOf(lost));
    else for (const tell of hooks) tell(error, undefined);
    owners.calls ??= openCalls();
  });
}

/** Absent before compatibility dates of 2026, without the flag `nodejs_compat`. */
function openCalls(): Calls | undefined {
  try {
    const module = process.getBuiltinModule?.("node:async_hooks");
    return module && new module.AsyncLocalStorage();
  } catch {
    return undefined;
  }
}
