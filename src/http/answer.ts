// Owns running one call to its encoded answer: where exceptions end, and where the lease is looked at for the last time
// before a method runs.

import type { HeardCall } from "../deployment/deployment.ts";
import type { Call } from "../protocol/call.ts";
import { dispatch, encodeAnswer, encodeFailure, type Answer } from "../protocol/dispatch.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import type { CallOutcome } from "../protocol/outcome.ts";
import { isFailure } from "../protocol/methods/params.ts";
import { HELD, ROOM_AFTER_S, SMALL_BYTES } from "../tenants/isolate/held-bytes.ts";
import { enter } from "./enter.ts";
import type { Entered } from "./entered.ts";
import { atOnceFailure, runningOf, tellMet } from "./limit-messages.ts";
import { failureOf } from "./on-error.ts";
import { isAuthored, tellRefused } from "./refused-calls.ts";

const NO_ROOM: Failure = {
  ...failure("busy", "Temporarily unavailable: too many large answers were not read yet, try again"),
  retryAfter: ROOM_AFTER_S,
};

/** Never rejects: an exception becomes an answer that says no more than the error table does. */
export async function answer(entered: Entered, call: Call): Promise<Answer> {
  const running = runningOf(entered);
  const { concurrentCalls } = entered.limits;
  const ticket = running.begin(concurrentCalls, Date.now());
  if (ticket === undefined) {
    const refused = atOnceFailure(entered, "concurrentCalls");
    if (entered.around && isAuthored(call)) await tellRefused(entered, call, refused);
    return heard({ host: entered, call, answer: encodeFailure(call.id, refused, call.dialect.era) });
  }
  try {
    return await answerCounted(entered, call);
  } finally {
    running.end(ticket);
  }
}

function tooLong(entered: Entered): Failure {
  const { resultBytes: most } = entered.limits;
  tellMet(entered, { name: "resultBytes", most });
  const message = `Refused: the answer is longer than resultBytes, which is ${most}`;
  return failure("refused", message, { limit: "resultBytes", most });
}

/** What is longer than the tenant's limit, or than what can be held until the client has read it, is not sent. */
function sendable(entered: Entered, { id, dialect: { era } }: Call, encoded: Answer): Answer {
  const { json } = encoded;
  if (!isWithin(json, entered.limits.resultBytes)) return encodeFailure(id, tooLong(entered), era);
  if (json.length <= SMALL_BYTES) return encoded;
  const holder = entered.visit.address;
  // One answer may take more than half of it all, and nobody else's place: what they hold already counts twice.
  return HELD.fits(json.length + HELD.of(holder)) ? { ...encoded, holder } : encodeFailure(id, NO_ROOM, era);
}

/** Of a character that is no ASCII, UTF-8 takes up to three bytes: only then they are counted. */
export function isWithin(json: string, most: number): boolean {
  if (json.length * 3 <= most) return true;
  return json.length <= most && encoder.encode(json).byteLength <= most;
}

const encoder = new TextEncoder();

async function outcomeOf(entered: Entered, call: Call): Promise<CallOutcome> {
  const { backend, view, visit } = entered;
  return visit.unwrapped ? visit.unwrapped.answer(call, { view, backend, host: entered }) : dispatch(call, backend);
}

/** Where nobody that is around calls was reached, because nothing was found, they are told now. */
async function heardAround(entered: Entered, call: Call): Promise<CallOutcome> {
  const finding = { found: false };
  const outcome = await outcomeOf(entered, { ...call, finding });
  if (!finding.found) await tellRefused(entered, call, outcome);
  return outcome;
}

/** The answer, when whoever hears of calls was told: of a stored call, which may run several times, by the run that ends it. */
export async function heard(told: HeardCall & { readonly host: Entered; readonly call: Call }): Promise<Answer> {
  const { call, host, answer: answered } = told;
  const { trail, deployment } = host.visit;
  if (!trail && !deployment.heard) return answered;
  if ((await call.questions?.ends?.()) ?? true) {
    trail?.ran(call, answered);
    await deployment.heard?.(told);
  }
  return answered;
}

/** The same for a call that was counted when it came in. */
export async function answerCounted(entered: Entered, call: Call): Promise<Answer> {
  const { visit } = entered;
  visit.work();
  visit.method = call.method;
  try {
    // Whoever was let in may have waited since, for a session or for others in its batch.
    const again = entered.holds ? entered : await enter(visit);
    if (isFailure(again))
      return await heard({ host: entered, call, answer: encodeFailure(call.id, again, call.dialect.era) });
    const outcome = await (again.around && isAuthored(call) ? heardAround(again, call) : outcomeOf(again, call));
    const encoded = encodeAnswer(call.id, outcome, call.dialect, again.view.server);
    // Its event is told when the visit is done.
    return await heard({ host: again, call, answer: sendable(again, call, encoded), outcome });
  } catch (error) {
    entered.onError(error);
    const failed = encodeFailure(call.id, failureOf(error, visit.request), call.dialect.era);
    return await heard({ host: entered, call, answer: failed });
  } finally {
    visit.done();
  }
}
