// Owns going on over connections that break: what each of them brings, why it broke, and the pause before the next one.
// Refuses to know what a connection carries and when it is worth another: whoever opens it says both.

import { pause, type Clock } from "./clock.ts";
import type { Fault } from "./fault.ts";
import type { Stop } from "./stop.ts";

/** The connection is gone, and is tried again after so long. */
export interface Dropped {
  readonly kind: "dropped";
  readonly fault: Fault;
  readonly waitMs: number;
}

export interface Connecting<Event> {
  readonly clock: Clock;
  readonly stop: Stop;
  /** One connection. Returns why it broke; undefined where there is no reason to try again. */
  once(): AsyncGenerator<Event, Fault | undefined, void>;
  /** How long to wait after this fault, in milliseconds. */
  nextMs(fault: Fault): number;
}

/** Ends `stop` when its reader leaves, or when there is nothing to come back for. */
export async function* reconnecting<Event>(connecting: Connecting<Event>): AsyncGenerator<Event | Dropped, void, void> {
  const { clock, stop } = connecting;
  try {
    while (!stop.signal.aborted) {
      const fault = yield* connecting.once();
      if (fault === undefined || stop.signal.aborted) return;
      const waitMs = connecting.nextMs(fault);
      yield { kind: "dropped", fault, waitMs };
      if (!(await pause(clock, waitMs, stop.signal))) return;
    }
  } finally {
    stop.end();
  }
}
