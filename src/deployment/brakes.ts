// Owns the shape of what stops something in every tenant at once: of the one feature by which operators do that.

import type { View } from "../content/serve/view.ts";
import type { Failure } from "../protocol/errors.ts";
import type { Snapshot } from "../tenants/isolate/snapshot.ts";

/** What is needed to ask what operators stopped in every tenant. */
export interface BrakeGround {
  readonly env: object;
  readonly request: Request;
  waitUntil(work: Promise<unknown>): void;
  onError(error: unknown): void;
}

/** What operators stop in every tenant, under a lease of its own: a visit needs both. */
export interface Brakes {
  /** The snapshot with what is stopped in it, which lasts as long as both leases do. `taken` is under way already. */
  hold(
    ground: BrakeGround,
    taken: Snapshot | Failure | Promise<Snapshot | Failure>,
  ): Snapshot | Failure | Promise<Snapshot | Failure>;
  /**
   * Asked when a stream begins and with each of its keepalives: whether what it sees may have changed since `view` was made.
   * `ground`: of the one stream. Costs no call while nothing changes, but for who listens first in an isolate.
   */
  changed(ground: BrakeGround, snapshot: Snapshot, view: View): Promise<boolean>;
  /** The stream is over. */
  left(ground: BrakeGround): void;
}
