// Owns what a Worker answers that cannot serve anybody: to each request at once, with that request's own id, so that no
// client waits and whoever wrote the mistake reads it where they look.

import { MAX_BATCH } from "../protocol/classify.ts";
import { encodeFailure } from "../protocol/dispatch.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import { parseMessage } from "../protocol/jsonrpc.ts";
import { DEFAULT_MAX_BODY_BYTES, parseJson, readBody } from "./body.ts";
import { isFailure } from "../protocol/methods/params.ts";
import { eraOf } from "./mcp.ts";
import { respondAccepted, respondAnswer } from "./respond.ts";

/** `why`: told to everybody; in a deployment that is no more than that it is not complete. */
export async function respondFaulty(request: Request, why: string): Promise<Response> {
  const fault = failure("internal", why);
  if (request.method !== "POST") {
    return new Response(`${why}\n`, { status: 500, headers: { "content-type": "text/plain; charset=utf-8" } });
  }
  const body = await readBody(request, DEFAULT_MAX_BODY_BYTES);
  const parsed = isFailure(body) ? body : parseJson(body.text);
  if (isFailure(parsed)) return respondAnswer(encodeFailure(undefined, parsed, eraOf(request)));
  const answers = answersTo(request, parsed.value, fault);
  if (answers.length === 0) return respondAccepted();
  return respondAnswer({
    json: Array.isArray(parsed.value) ? `[${answers.join(",")}]` : answers.join(""),
    status: 200,
  });
}

function answersTo(request: Request, value: unknown, fault: Failure): readonly string[] {
  const messages = Array.isArray(value) ? value.slice(0, MAX_BATCH) : [value];
  return messages.map(parseMessage).flatMap((message) => {
    const isAnswered = message.kind === "request" || message.kind === "invalid";
    return isAnswered ? encodeFailure(message.id, fault, eraOf(request)).json : [];
  });
}
