// Answers every request in a body with the same error and its own id, because clients wait for nothing else. For a
// Worker that cannot serve, and for errors before a message is processed.

import { MAX_BATCH } from "../protocol/classify.ts";
import { encodeFailure } from "../protocol/dispatch.ts";
import type { Failure } from "../protocol/errors.ts";
import { parseMessage } from "../protocol/jsonrpc.ts";
import { isFailure } from "../protocol/methods/params.ts";
import { parseJson } from "./body.ts";
import { eraOf, respondAccepted, respondAnswer, respondFailure } from "./respond.ts";

export function respondEach(request: Request, body: string | Failure, fault: Failure): Response {
  const parsed = isFailure(body) ? body : parseJson(body);
  if (isFailure(parsed)) return respondFailure(eraOf(request), undefined, parsed);
  const answers = encodeFailures(request, parsed.value, fault);
  if (answers.length === 0) return respondAccepted();
  return respondAnswer({
    json: Array.isArray(parsed.value) ? `[${answers.join(",")}]` : answers.join(""),
    status: 200,
  });
}

function encodeFailures(request: Request, value: unknown, fault: Failure): readonly string[] {
  const messages = Array.isArray(value) ? value.slice(0, MAX_BATCH) : [value];
  return messages.map(parseMessage).flatMap((message) => {
    const isAnswered = message.kind === "request" || message.kind === "invalid";
    return isAnswered ? encodeFailure(message.id, fault, eraOf(request)).json : [];
  });
}
