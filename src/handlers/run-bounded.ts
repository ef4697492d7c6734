// Runs an author's function to one of its ends: returned, threw, suspended at a question, out of time, cancelled.

import type { EventSink } from "../protocol/mcp-request.ts";
import type { Elicitor } from "./elicitor.ts";

export type HandlerEnd<T> =
  | { readonly kind: "returned"; readonly value: T }
  | { readonly kind: "threw"; readonly error: unknown }
  | { readonly kind: "suspended" }
  | { readonly kind: "timedOut" }
  | { readonly kind: "cancelled" };

export interface RunBounds {
  readonly timeoutMs: number;
  readonly elicitor: Pick<Elicitor, "waitedMs"> & Partial<Pick<Elicitor, "onSuspend">>;
  /** Absent: the handler continues when its call is cancelled. */
  readonly sink?: EventSink;
}

/** Microtasks within which a handler without I/O finishes. */
const FAST_PATH_TURNS = 12;

export async function runBounded<T>(work: () => T | Promise<T>, bounds: RunBounds): Promise<HandlerEnd<T>> {
  const fastPath: { end?: HandlerEnd<T> } = {};
  const settled = settle(work).then((end) => (fastPath.end = end));
  // Without these turns a call of such a handler costs 12 to 15 % more, for its timer and its signal.
  for (let turn = 0; turn < FAST_PATH_TURNS && !fastPath.end; turn += 1) await Promise.resolve();
  return fastPath.end ?? waitForEnd(settled, bounds);
}

async function settle<T>(work: () => T | Promise<T>): Promise<HandlerEnd<T>> {
  try {
    return { kind: "returned", value: await work() };
  } catch (error) {
    return { kind: "threw", error };
  }
}

function waitForEnd<T>(
  settled: Promise<HandlerEnd<T>>,
  { timeoutMs, elicitor, sink }: RunBounds,
): Promise<HandlerEnd<T>> {
  const cancelled = sink?.cancelled;
  return new Promise((resolve) => {
    const started = Date.now();
    // Checks again when the time is over: time that the client took to answer does not count.
    const checkTime = () => {
      const remainingMs = timeoutMs + elicitor.waitedMs() - (Date.now() - started);
      if (remainingMs <= 0) finish({ kind: "timedOut" });
      else timer = setTimeout(checkTime, remainingMs);
    };
    let timer = setTimeout(checkTime, timeoutMs);
    const cancel = () => finish({ kind: "cancelled" });
    const finish = (end: HandlerEnd<T>) => {
      clearTimeout(timer);
      cancelled?.removeEventListener("abort", cancel);
      resolve(end);
    };
    void settled.then(finish);
    elicitor.onSuspend?.(() => finish({ kind: "suspended" }));
    cancelled?.addEventListener("abort", cancel);
    if (cancelled?.aborted) cancel();
  });
}
