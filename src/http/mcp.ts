// Owns the MCP endpoint: one POST from its headers to its answer, in both eras. The numbered steps are its whole way.

import type { Call } from "../protocol/call.ts";
import { classify } from "../protocol/classify.ts";
import { DIALECT_2026 } from "../protocol/era.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import { parseMessage, type EchoId, type JsonObject, type RpcRequest } from "../protocol/jsonrpc.ts";
import { META, progressTokenOf, type LogLevel } from "../protocol/meta.ts";
import { isFailure } from "../protocol/methods/params.ts";
import { readListen } from "../protocol/methods/subscriptions.ts";
import { MESSAGE_PACE, RequestBody } from "../streams/request-body.ts";
import { HELD } from "../tenants/isolate/held-bytes.ts";
import { answer } from "./answer.ts";
import { bodyTooLarge, isJsonType, parseAccept, parseJson, textOf, type Accepted, type ParsedBody } from "./body.ts";
import { enter } from "./enter.ts";
import type { Entered } from "./entered.ts";
import { answer2025 } from "./era-2025/answers.ts";
import { answerPosted, postedTo } from "./era-2025/posted.ts";
import { isEach, limitMessages, refusal, wholly } from "./limit-messages.ts";
import { answerListen } from "./notifications.ts";
import { failureOf } from "./on-error.ts";
import { requestSink, RequestStream } from "./request-stream.ts";
import { respondEach } from "./respond-each.ts";
import { respondAccepted, respondAsStream, respondFailure, respondWhenReady } from "./respond.ts";
import type { Visit } from "./visit.ts";

/** How a POST is answered once its caller is known and its body read. */
export type AnswerBody = (entered: Entered, accepted: Accepted, body: ParsedBody) => Promise<Response>;

export async function handlePost(visit: Visit, maxBytes: number, respond: AnswerBody): Promise<Response> {
  const { request } = visit;
  // 1. What the headers alone refuse. The body of a request that is refused is not read.
  const body = new RequestBody(request, MESSAGE_PACE, HELD.open(visit.address), visit);
  const accepted = acceptable(request.headers, body.declared ?? 0, maxBytes);
  if (isFailure(accepted)) {
    body.drop();
    return respondFailure(visit.era, undefined, accepted);
  }
  visit.holdBody(body);
  let text: string | Failure | undefined;
  try {
    // 2. Who calls. Before this, nothing that was sent is answered.
    let entered = await enter(visit);
    if (isFailure(entered)) {
      body.drop();
      return respondFailure(visit.era, undefined, refusal(visit, entered));
    }
    // 3. The body, read once. The client decides how long that takes, so rights may have ended meanwhile.
    const before = Date.now();
    text = await textOf(body, Math.min(maxBytes, visit.mostBytes));
    if (!entered.holds || Date.now() > before + SLOW_MS) entered = await enter(visit);
    if (isFailure(entered)) return respondFailure(visit.era, undefined, refusal(visit, entered));
    const parsed = isFailure(text) ? text : parseJson(text, (bytes) => body.holdMore(bytes));
    if (isFailure(parsed)) return await respondUnread(entered, parsed);
    visit.sentText = parsed.text;
    const answered = await respond(entered, accepted, parsed);
    return accepted.json ? answered : await respondAsStream(answered);
  } catch (error) {
    // Clients wait for an answer with the id of their request, and ignore any other.
    visit.onError(error);
    text ??= await textOf(body, Math.min(maxBytes, visit.mostBytes)).catch(() => failure("parseError"));
    return respondEach(request, text, failureOf(error, request));
  } finally {
    visit.done();
  }
}

/** A body that took longer may have outlived the key with which it came, as it may its lease. */
const SLOW_MS = 1000;

export const answerBody: AnswerBody = async (entered, accepted, body) => {
  const { inbound, era, request } = entered.visit;
  // 4. Every message counts towards the limits.
  const limited = await limitMessages(entered, body.value);
  const session = postedTo(request, era);
  // The answers to a batch on another connection are not here, so it is taken or refused as a whole.
  const refused = session !== null || !isEach(limited) ? wholly(limited) : undefined;
  if (refused) return respondFailure(era, askedBy(body.value), refused);
  if (session !== null) return answerPosted(entered, session, body);
  // 5. Which era, which dialect, or why not.
  const classified = classify(body.value, inbound);
  switch (classified.kind) {
    case "rejected":
      return respondFailure(classified.era, classified.id, classified.failure);
    case "ignored":
      return respondAccepted();
    // 6. The answer, in its era.
    case "request2026":
      return answer2026(entered, accepted, classified);
    case "message2025":
    case "batch2025":
      return answer2025(entered, classified, {
        inbound,
        streams: accepted.stream,
        limited: isEach(limited) ? limited : [],
      });
  }
};

/** Counts like a message: otherwise what is no JSON could be sent without end. */
async function respondUnread(entered: Entered, why: Failure): Promise<Response> {
  const limited = wholly(await limitMessages(entered, undefined));
  return respondFailure(entered.visit.era, undefined, limited ?? why);
}

/** The id of a request that is refused before it is classified. */
export function askedBy(value: unknown): EchoId {
  const message = parseMessage(value);
  return message.kind === "request" || message.kind === "invalid" ? message.id : undefined;
}

function acceptable(headers: Headers, declared: number, most: number): Accepted | Failure {
  if (declared > most) return bodyTooLarge(most);
  if (!isJsonType(headers.get("content-type"))) return failure("unsupportedMediaType");
  const accepted = parseAccept(headers.get("accept"));
  return accepted.json || accepted.stream ? accepted : failure("notAcceptable");
}

interface Request2026 {
  readonly message: RpcRequest;
  readonly params: JsonObject;
}

export async function answer2026(
  entered: Entered,
  accepted: Accepted,
  { message, params }: Request2026,
): Promise<Response> {
  if (message.method === "subscriptions/listen" && !entered.visit.unwrapped)
    return listen(entered, accepted, { message, params });
  const { request } = entered.visit;
  const stream = new RequestStream(request, "2026", accepted.stream);
  const sink = requestSink(stream, "2026");
  const meta = params._meta as JsonObject;
  const call: Call = {
    dialect: DIALECT_2026,
    id: message.id,
    method: message.method,
    params,
    capabilities: meta[META.clientCapabilities] as JsonObject,
    progressToken: progressTokenOf(params),
    logLevel: meta[META.logLevel] as LogLevel | undefined,
    session: undefined,
    sink,
    header: (name) => request.headers.get(name),
    now: Date.now,
  };
  return respondWhenReady(answer(entered, call), {
    sink,
    stream,
    waitUntil: (work) => {
      entered.waitUntil(work);
    },
  });
}

/** https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions */
async function listen(entered: Entered, accepted: Accepted, { message, params }: Request2026): Promise<Response> {
  const { id } = message;
  const filter = readListen(params);
  if (isFailure(filter)) return respondFailure("2026", id, filter);
  if (!accepted.stream) return respondFailure("2026", id, failure("notAcceptable"));
  try {
    const answered = await answerListen(entered, { id, filter });
    return isFailure(answered) ? respondFailure("2026", id, answered) : answered;
  } catch (error) {
    entered.onError(error);
    return respondFailure("2026", id, failureOf(error, entered.visit.request));
  }
}
