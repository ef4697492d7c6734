// The MCP endpoint: one POST from its headers to its response, in both eras. The numbered steps are the whole path.

import type { McpRequest } from "../protocol/mcp-request.ts";
import { classify } from "../protocol/classify.ts";
import { REVISION_2026 } from "../protocol/revisions.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import { parseMessage, type EchoId, type JsonObject, type RpcRequest } from "../protocol/jsonrpc.ts";
import { META, progressTokenOf, type LogLevel } from "../protocol/meta.ts";
import { isFailure } from "../protocol/methods/params.ts";
import { parseListenFilter } from "../protocol/methods/subscriptions.ts";
import { MESSAGE_MIN_RATE, RequestBody } from "../streams/request-body.ts";
import { MEMORY_BUDGET } from "../tenants/cache/memory-budget.ts";
import { handleRequest } from "./handle-request.ts";
import {
  bodyTooLarge,
  isJsonType,
  parseAccept,
  parseJson,
  readBodyText,
  type AcceptedTypes,
  type ParsedBody,
} from "./body.ts";
import { authorizeRequest } from "./authorize-request.ts";
import type { AuthorizedRequest } from "./authorized-request.ts";
import { answerClassified2025 } from "./era-2025/answer-2025.ts";
import { answerSsePost, sseSessionIdOf } from "./era-2025/sse-post.ts";
import { isPerMessage, rateLimit, countRefusal, firstRejection } from "./rate-limit.ts";
import { answerListen } from "./notifications.ts";
import { failureOf } from "./failure-of-error.ts";
import { createRequestOutput, RequestStream } from "./request-stream.ts";
import { respondEach } from "./respond-each.ts";
import { respondAccepted, respondAsStream, respondFailure, respondWhenReady } from "./respond.ts";
import type { RequestContext } from "./request-context.ts";

/** Responds to a POST once its caller is authorized and its body is read. */
export type BodyHandler = (
  authorized: AuthorizedRequest,
  accepted: AcceptedTypes,
  body: ParsedBody,
) => Promise<Response>;

export async function handlePost(context: RequestContext, maxBytes: number, respond: BodyHandler): Promise<Response> {
  const { request } = context;
  // 1. Check the headers. The body of a request that fails is not read.
  const body = new RequestBody(
    request,
    MESSAGE_MIN_RATE,
    MEMORY_BUDGET.createReservation(context.clientAddress),
    context,
  );
  const accepted = checkHeaders(request.headers, body.declared ?? 0, maxBytes);
  if (isFailure(accepted)) {
    body.discard();
    return respondFailure(context.era, undefined, accepted);
  }
  context.retainBody(body);
  let text: string | Failure | undefined;
  try {
    // 2. Authorize the caller. Before this, no part of the body is answered.
    let authorized = await authorizeRequest(context);
    if (isFailure(authorized)) {
      body.discard();
      return respondFailure(context.era, undefined, countRefusal(context, authorized));
    }
    // 3. Read the body, once. The client decides how long that takes, so rights may have ended meanwhile.
    const readStart = Date.now();
    text = await readBodyText(body, Math.min(maxBytes, context.maxBodyBytes));
    if (!authorized.isLeased || Date.now() > readStart + SLOW_BODY_MS) authorized = await authorizeRequest(context);
    if (isFailure(authorized)) return respondFailure(context.era, undefined, countRefusal(context, authorized));
    const parsed = isFailure(text) ? text : parseJson(text, (bytes) => body.reserveParsed(bytes));
    if (isFailure(parsed)) return await respondUnparsed(authorized, parsed);
    context.sentText = parsed.text;
    const response = await respond(authorized, accepted, parsed);
    return accepted.json ? response : await respondAsStream(response);
  } catch (error) {
    // Clients wait for a response with the id of their request, and ignore any other.
    context.onError(error);
    text ??= await readBodyText(body, Math.min(maxBytes, context.maxBodyBytes)).catch(() => failure("parseError"));
    return respondEach(request, text, failureOf(error, request));
  } finally {
    context.endWork();
  }
}

/** A body that takes longer may outlive the key it came with, as well as the lease. */
const SLOW_BODY_MS = 1000;

export const handleBody: BodyHandler = async (authorized, accepted, body) => {
  const { inbound, era, request } = authorized.context;
  // 4. Count every message towards the limits.
  const limitFailures = await rateLimit(authorized, body.value);
  const session = sseSessionIdOf(request, era);
  // The responses to a batch on an SSE connection are sent elsewhere, so the batch is accepted or rejected as a whole.
  const rejection = session !== null || !isPerMessage(limitFailures) ? firstRejection(limitFailures) : undefined;
  if (rejection) return respondFailure(era, messageIdOfBody(body.value), rejection);
  if (session !== null) return answerSsePost(authorized, session, body);
  // 5. Determine the revision, or the reason for a rejection.
  const classified = classify(body.value, inbound);
  switch (classified.kind) {
    case "rejected":
      return respondFailure(classified.era, classified.id, classified.failure);
    case "ignored":
      return respondAccepted();
    // 6. Respond in the request's era.
    case "request2026":
      return answer2026(authorized, accepted, classified);
    case "message2025":
    case "batch2025":
      return answerClassified2025(authorized, classified, {
        inbound,
        acceptsStream: accepted.stream,
        limitFailures: isPerMessage(limitFailures) ? limitFailures : [],
      });
  }
};

/** Counts towards the limits like a message: otherwise a client could send invalid JSON without end. */
async function respondUnparsed(authorized: AuthorizedRequest, reason: Failure): Promise<Response> {
  const limitFailure = firstRejection(await rateLimit(authorized, undefined));
  return respondFailure(authorized.context.era, undefined, limitFailure ?? reason);
}

/** The id of a request that is rejected before it is classified. */
function messageIdOfBody(value: unknown): EchoId {
  const message = parseMessage(value);
  return message.kind === "request" || message.kind === "invalid" ? message.id : undefined;
}

function checkHeaders(headers: Headers, declared: number, maxBytes: number): AcceptedTypes | Failure {
  if (declared > maxBytes) return bodyTooLarge(maxBytes);
  if (!isJsonType(headers.get("content-type"))) return failure("unsupportedMediaType");
  const accepted = parseAccept(headers.get("accept"));
  return accepted.json || accepted.stream ? accepted : failure("notAcceptable");
}

interface Request2026 {
  readonly message: RpcRequest;
  readonly params: JsonObject;
}

export async function answer2026(
  authorized: AuthorizedRequest,
  accepted: AcceptedTypes,
  { message, params }: Request2026,
): Promise<Response> {
  if (message.method === "subscriptions/listen" && !authorized.context.envelope)
    return listen(authorized, accepted, { message, params });
  const { request } = authorized.context;
  const stream = new RequestStream(request, "2026", accepted.stream);
  const sink = createRequestOutput(stream, "2026");
  const meta = params._meta as JsonObject;
  const call: McpRequest = {
    revision: REVISION_2026,
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
  return respondWhenReady(handleRequest(authorized, call), {
    sink,
    stream,
    waitUntil: (work) => {
      authorized.waitUntil(work);
    },
  });
}

/** https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions */
async function listen(
  authorized: AuthorizedRequest,
  accepted: AcceptedTypes,
  { message, params }: Request2026,
): Promise<Response> {
  const { id } = message;
  const filter = parseListenFilter(params);
  if (isFailure(filter)) return respondFailure("2026", id, filter);
  if (!accepted.stream) return respondFailure("2026", id, failure("notAcceptable"));
  try {
    const response = await answerListen(authorized, { id, filter });
    return isFailure(response) ? respondFailure("2026", id, response) : response;
  } catch (error) {
    authorized.onError(error);
    return respondFailure("2026", id, failureOf(error, authorized.context.request));
  }
}
