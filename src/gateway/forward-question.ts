// Owns what an upstream of era 2025 asks while it works, on its way to a client of the same era and back. Refuses to
// answer in the client's place, and to hold more open questions than there is room for.

import { digest } from "../auth/seal.ts";
import type { AnswerQuestion } from "../mcp-client/questions.ts";
import type { QuestionPort } from "../protocol/call.ts";
import type { Deadline } from "./call-deadline.ts";
import type { AnswerRoom } from "./guard/answer-room.ts";
import type { Redaction } from "./guard/redaction.ts";

export interface QuestionWork {
  readonly deadline: Deadline;
  readonly redaction: Redaction;
  readonly room: AnswerRoom;
}

/** It is held as a value and as a text. */
const TIMES_HELD = 2;

/** Each question has a name of its own: an upstream may ask the same twice, and wants two answers. */
/** `waits`: is told that a person is asked. */
export function answerThrough(
  port: QuestionPort,
  { deadline, redaction, room }: QuestionWork,
  waits?: () => void,
): AnswerQuestion {
  let asked = 0;
  return async ({ method, params }) => {
    // Others are asked while this one waits for a person, who may take an hour.
    const release = room.keep(TIMES_HELD * JSON.stringify(params).length);
    asked += 1;
    if (asked === 1) waits?.();
    const name = `q${asked}`;
    const put = { name, digest: await digest(name), method, params: redaction.value(params) };
    const goOn = deadline.pause();
    const answers = await port.ask([put], {}).finally(() => {
      goOn();
      release();
    });
    const answer = answers?.get(put.digest);
    // Without an answer there is nothing to say to the upstream; it hears that this client does not answer.
    return answer !== undefined && "result" in answer ? answer.result : undefined;
  };
}
