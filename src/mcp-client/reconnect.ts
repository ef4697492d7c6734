// Owns going on over connections that break: what each of them brings, why it broke, and the pause before the next one.
// Refuses to know what a connection carries and when it is worth another: whoever opens it says both.

import { pause, type Clock } from "./clock.ts";
import type { Fault } from "./fault.ts";
import type { CancelSignal } from "./cancel-signal.ts";

/** The connection is gone, and is tried again after so long. */
export interface Dropped {
  readonly kind: "dropped";
  readonly fault: Fault;
  readonly waitMs: number;
}

export interface ReconnectOptions<Event> {
  readonly clock: Clock;
  readonly cancelSignal: CancelSignal;
  /** One connection. Returns why it broke; undefined where there is no reason to try again. */
  connectOnce(): AsyncGenerator<Event, Fault | undefined, void>;
  /** How long to wait after this fault, in milliseconds. */
  nextDelayMs(fault: Fault): number;
}

/** Ends `stop` when its reader leaves, or when there is nothing to come back for. */
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
