// Owns what an upstream of era 2025 asks while it works, on its way to a client of the same era and back, in the words of the
// client's revision. Refuses to answer in the client's place, and to hold more open questions than there is room for.

import { digest } from "../auth/seal.ts";
import type { AnswerQuestion } from "../mcp-client/questions.ts";
import type { Question } from "../calls/answers.ts";
import { fitted, restored } from "../calls/fit-question.ts";
import { MissingCapability } from "../calls/interview.ts";
import type { Call, QuestionPort } from "../protocol/call.ts";
import type { Dialect } from "../protocol/era.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import type { Deadline } from "./call-deadline.ts";
import type { AnswerRoom } from "./guard/answer-room.ts";
import type { Redaction } from "./guard/redaction.ts";

export interface QuestionWork {
  readonly call: Pick<Call, "dialect">;
  readonly deadline: Deadline;
  readonly redaction: Redaction;
  readonly room: AnswerRoom;
}

/** It is held as a value and as a text. */
const TIMES_HELD = 2;

/**
 * Each question has a name of its own: an upstream may ask the same twice, and wants two answers. `waits`: is told that a
 * person is asked.
 */
export function answerThrough(
  port: QuestionPort,
  { call, deadline, redaction, room }: QuestionWork,
  waits?: () => void,
): AnswerQuestion {
  let asked = 0;
  return async ({ method, params: own }) => {
    const question = { method, params: redaction.value(own) } as Question;
    const params = inWordsOf(call.dialect, question);
    if (typeof params === "string") return params;
    // Others are asked while this one waits for a person, who may take an hour.
    const release = room.keep(TIMES_HELD * JSON.stringify(params).length);
    asked += 1;
    if (asked === 1) waits?.();
    const name = `q${asked}`;
    const put = { name, digest: await digest(name), method, ...(params && { params }) };
    const goOn = deadline.pause();
    const answers = await port.ask([put], {}).finally(() => {
      goOn();
      release();
    });
    const answer = answers?.get(put.digest);
    // Without an answer there is nothing to say to the upstream; it hears that this client does not answer.
    return answer !== undefined && "result" in answer ? restored(question, answer.result) : undefined;
  };
}

/** A text says what the revision has no words for: the upstream is told. */
function inWordsOf(dialect: Dialect, question: Question): JsonObject | string | undefined {
  try {
    return fitted(question, dialect);
  } catch (error) {
    if (error instanceof MissingCapability) return error.message;
    throw error;
  }
}
