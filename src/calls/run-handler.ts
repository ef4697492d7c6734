// Owns running a handler to one of its ends: returned, threw, suspended at a question, out of time, cancelled.
// A handler that is ready at once costs no timer and no race.

import type { EventSink } from "../protocol/call.ts";
import { soon } from "../protocol/soon.ts";
import type { Interview } from "./interview.ts";

export type HandlerEnd<T> =
  | { readonly kind: "returned"; readonly value: T }
  | { readonly kind: "threw"; readonly error: unknown }
  | { readonly kind: "suspended" }
  | { readonly kind: "timedOut" }
  | { readonly kind: "cancelled" };

export interface RunLimits {
  readonly timeoutMs: number;
  readonly interview: Pick<Interview, "waited"> & Partial<Pick<Interview, "onSuspend">>;
  /** Asked for its cancellation signal only when the handler is not ready at once. Absent: it goes on when its call is cancelled. */
  readonly sink?: EventSink;
}

/** Microtasks to wait for the handler before a timer is set. */
const QUICK_TURNS = 12;

export async function runHandler<T>(work: () => T | Promise<T>, limits: RunLimits): Promise<HandlerEnd<T>> {
  let pending: T | Promise<T>;
  try {
    pending = work();
  } catch (error) {
    return { kind: "threw", error };
  }
  if (!isPromiseLike(pending)) return { kind: "returned", value: pending };
  let ended: HandlerEnd<T> | undefined;
  const settled = pending.then(
    (value): HandlerEnd<T> => (ended = { kind: "returned", value }),
    (error: unknown): HandlerEnd<T> => (ended = { kind: "threw", error }),
  );
  await soon(() => ended !== undefined, QUICK_TURNS);
  return ended ?? waitFor(settled, limits);
}

function waitFor<T>(
  settled: Promise<HandlerEnd<T>>,
  { timeoutMs, interview, sink }: RunLimits,
): Promise<HandlerEnd<T>> {
  const cancelled = sink?.cancelled;
  return new Promise((resolve) => {
    const started = Date.now();
    // Looks again when the time is over: what the client took to answer meanwhile does not count.
    const look = () => {
      const left = timeoutMs + interview.waited() - (Date.now() - started);
      if (left <= 0) resolve({ kind: "timedOut" });
      else timer = setTimeout(look, left);
    };
    let timer = setTimeout(look, timeoutMs);
    const finish = (ended: HandlerEnd<T>) => {
      clearTimeout(timer);
      resolve(ended);
    };
    void settled.then(finish);
    interview.onSuspend?.(() => {
      finish({ kind: "suspended" });
    });
    cancelled?.addEventListener("abort", () => {
      finish({ kind: "cancelled" });
    });
    if (cancelled?.aborted) finish({ kind: "cancelled" });
  });
}

function isPromiseLike<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
