// Owns running one call to its encoded answer: where exceptions end, and where the lease is looked at for the last time
// before a method runs.

import type { Call } from "../protocol/call.ts";
import { dispatch, encodeAnswer, encodeFailure, type Answer } from "../protocol/dispatch.ts";
import { isFailure } from "../protocol/methods/params.ts";
import { enter } from "./enter.ts";
import type { Entered } from "./entered.ts";
import { atOnceFailure, runningOf } from "./limit-messages.ts";
import { failureOf } from "./on-error.ts";

/** Never rejects: an exception becomes an answer that says no more than the error table does. */
export async function answer(entered: Entered, call: Call): Promise<Answer> {
  const running = runningOf(entered);
  const { concurrentCalls } = entered.limits;
  const ticket = running.begin(concurrentCalls, Date.now());
  if (ticket === undefined) {
    return encodeFailure(call.id, atOnceFailure(entered, "concurrentCalls"), call.dialect.era);
  }
  try {
    return await answerCounted(entered, call);
  } finally {
    running.end(ticket);
  }
}

/** The same for a call that was counted when it came in. */
export async function answerCounted(entered: Entered, call: Call): Promise<Answer> {
  try {
    // Whoever was let in may have waited since, for a session or for others in its batch.
    const again = entered.holds ? entered : await enter(entered.visit);
    if (isFailure(again)) return encodeFailure(call.id, again, call.dialect.era);
    const { backend, view } = again;
    const outcome = dispatch(call, backend);
    return encodeAnswer(call.id, outcome instanceof Promise ? await outcome : outcome, call.dialect, view.server);
  } catch (error) {
    entered.onError(error);
    return encodeFailure(call.id, failureOf(error, entered.visit.request), call.dialect.era);
  }
}
