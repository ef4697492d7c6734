// Runs connections one after another: the events of each, why it broke, and the pause before the next. The caller opens
// connections and decides whether to retry.

import { pause, type Clock } from "./clock.ts";
import type { Fault } from "./fault.ts";
import type { CancelSignal } from "./cancel-signal.ts";

/** The connection broke and is retried after `waitMs`. */
export interface Dropped {
  readonly kind: "dropped";
  readonly fault: Fault;
  readonly waitMs: number;
}

export interface ReconnectOptions<Event> {
  readonly clock: Clock;
  readonly cancelSignal: CancelSignal;
  /** One connection. Returns why it broke, or undefined if there is no reason to retry. */
  connectOnce(): AsyncGenerator<Event, Fault | undefined, void>;
  nextDelayMs(fault: Fault): number;
}

/** Ends `cancelSignal` when its reader stops, or when there is no reason to retry. */
export async function* withReconnect<Event>(
  options: ReconnectOptions<Event>,
): AsyncGenerator<Event | Dropped, void, void> {
  const { clock, cancelSignal } = options;
  try {
    while (!cancelSignal.signal.aborted) {
      const fault = yield* options.connectOnce();
      if (fault === undefined || cancelSignal.signal.aborted) return;
      const waitMs = options.nextDelayMs(fault);
      yield { kind: "dropped", fault, waitMs };
      if (!(await pause(clock, waitMs, cancelSignal.signal))) return;
    }
  } finally {
    cancelSignal.end();
  }
}
