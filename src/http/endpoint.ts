// Owns what the steps of a request hand on to each other, and running one call to its encoded answer: where exceptions end.

import type { Backend, Call } from "../protocol/backend.ts";
import type { InboundHeaders } from "../protocol/classify.ts";
import { dispatch, encodeAnswer, encodeFailure, type Answer } from "../protocol/dispatch.ts";
import type { Failure } from "../protocol/errors.ts";
import type { Snapshot } from "../tenants/isolate/snapshot.ts";
import type { Admitted } from "./admit.ts";
import type { Doors } from "../sessions/doors.ts";
import { failureOf } from "./on-error.ts";

/** What the steps before this one found out, and the doors to what lies behind it. */
export interface Endpoint {
  readonly request: Request;
  readonly tenant: string;
  readonly profile: string | null;
  readonly maxBodyBytes: number;
  /** A failure: unknown, or not to be told apart from unknown. */
  /** `revision`: of the policy, at least. */
  snapshot(revision?: number): Snapshot | Promise<Snapshot | Failure>;
  admit(snapshot: Snapshot): Admitted | Failure;
  backend(admitted: Admitted, snapshot: Snapshot): Backend;
  /** The credential that was brought. */
  readonly token: string | null;
  readonly doors: Doors;
  waitUntil(work: Promise<unknown>): void;
  onError(error: unknown): void;
}

/** What answering a call needs. */
export interface Arriving {
  readonly request: Request;
  readonly served: Backend;
  onError(error: unknown): void;
}

export interface Arrived extends Endpoint {
  readonly held: Snapshot;
  readonly admitted: Admitted;
  readonly served: Backend;
  readonly inbound: InboundHeaders;
  readonly streams: boolean;
}

/** Where exceptions end: an answer that says no more than the error table does. */
export async function answer(arrived: Arriving, call: Call): Promise<Answer> {
  const { served } = arrived;
  try {
    const outcome = dispatch(call, served);
    return encodeAnswer(call.id, outcome instanceof Promise ? await outcome : outcome, call.dialect, served.server);
  } catch (error) {
    arrived.onError(error);
    return encodeFailure(call.id, failureOf(error, arrived.request), call.dialect.era);
  }
}
