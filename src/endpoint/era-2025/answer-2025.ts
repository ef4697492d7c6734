// Responses of era 2025: sessions that start and end, requests, batches, notifications and client responses.
// https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http

import type { McpRequest, ClientResponse, EventSink } from "../../protocol/mcp-request.ts";
import type { Classified } from "../../protocol/classify.ts";
import { encodeOutcome, encodeFailure, type EncodedResponse } from "../../protocol/dispatch.ts";
import { DEFAULT_REVISION, findRevision2025, type RevisionFeatures } from "../../protocol/revisions.ts";
import { failure, type Failure } from "../../protocol/errors.ts";
import {
  isMessageId,
  type RpcMessage,
  type RpcNotification,
  type RpcRequest,
  type RpcResponse,
} from "../../protocol/jsonrpc.ts";
import { isFailure } from "../../protocol/methods/params.ts";
import { initialize } from "../../protocol/methods/lifecycle.ts";
import { parseClientInfo, progressTokenOf } from "../../protocol/meta.ts";
import { isQuestionId, requestKey } from "../../sessions/call-runner.ts";
import { withRetries } from "../../streams/with-retries.ts";
import { findSession, ownerOf } from "../../sessions/find-session.ts";
import type { SessionCaller } from "../../sessions/session-caller.ts";
import { MEMORY_BUDGET, type MemoryReservation } from "../../tenants/cache/memory-budget.ts";
import { handleRequest, NO_MEMORY } from "../handle-request.ts";
import type { AuthorizedRequest } from "../authorized-request.ts";
import type { InboundHeaders } from "../../protocol/classify.ts";
import { failureOf } from "../failure-of-error.ts";
import { createRequestOutput, RequestStream } from "../request-stream.ts";
import { respondAccepted, respondAnswer, respondFailure, respondWhenReady } from "../respond.ts";
import { runCall } from "./run-call.ts";
import { createSessionId, type Session } from "../../sessions/session-id.ts";
import { NULL_SINK } from "../call-output.ts";

/** Limit for a client's progress or error message; the rest is cut off. */
const MAX_MESSAGE_CHARACTERS = 1000;

function idOf(classified: Classified) {
  if (classified.kind === "request2026") return classified.message.id;
  return classified.kind === "message2025" && classified.message.kind === "request" ? classified.message.id : undefined;
}

type Classified2025 = Classified & { kind: "message2025" | "batch2025" };

/** A POST's headers and limits, besides its body. */
export interface PostContext {
  readonly inbound: InboundHeaders;
  /** The client accepts text/event-stream. */
  readonly acceptsStream: boolean;
  /** For a batch: limit failures, at the index of their message. */
  readonly limitFailures: readonly (Failure | undefined)[];
}

export async function answerClassified2025(
  authorized: AuthorizedRequest,
  classified: Classified2025,
  posting: PostContext,
): Promise<Response> {
  try {
    return await answerClassified(authorized, classified, posting);
  } catch (error) {
    authorized.onError(error);
    return respondFailure("2025", idOf(classified), failureOf(error, authorized.context.request));
  }
}

async function answerClassified(
  authorized: AuthorizedRequest,
  classified: Classified2025,
  { inbound, acceptsStream: streams, limitFailures }: PostContext,
): Promise<Response> {
  if (classified.kind === "message2025" && isInitialize(classified.message)) {
    return answerInitialize(authorized, classified.message);
  }
  const session = inbound.session === null ? null : await findSession(authorized, inbound.session);
  if (session === undefined) return respondFailure("2025", idOf(classified), failure("sessionNotFound"));
  if (classified.kind === "batch2025")
    return answerBatch(authorized, classified.messages, { session, inbound, acceptsStream: streams, limitFailures });
  const { message } = classified;
  if (message.kind !== "request") return handleClientMessage(authorized, message, session);
  const call = createRequest2025(authorized, message, session?.revision ?? classified.revision, session);
  return runCall(authorized, call, { session, acceptsStream: streams });
}

export function isInitialize(message: RpcMessage): message is RpcRequest {
  return message.kind === "request" && message.method === "initialize";
}

export function createRequest2025(
  { sessionStubs }: SessionCaller,
  message: RpcRequest,
  revision: RevisionFeatures,
  session: Session | null,
): McpRequest {
  return {
    revision,
    id: message.id,
    method: message.method,
    params: message.params ?? {},
    capabilities: session?.capabilities ?? {},
    progressToken: progressTokenOf(message.params),
    logLevel: undefined,
    session: session === null ? undefined : sessionStubs.sessionPort(session),
    sink: NULL_SINK,
    header: () => null,
    now: Date.now,
  };
}

async function answerInitialize(authorized: AuthorizedRequest, message: RpcRequest): Promise<Response> {
  const initialized = initialize(message.params ?? {}, authorized.handlers);
  if (initialized.kind === "failure") return respondFailure("2025", message.id, initialized);
  const { negotiation, capabilities, result } = initialized;
  const { json } = encodeOutcome(
    message.id,
    { kind: "complete", result },
    negotiation.revision,
    authorized.view.server,
  );
  const owner = ownerOf(authorized);
  const response = respondAnswer({ json, status: 200 });
  const client = parseClientInfo(message.params?.clientInfo);
  response.headers.set("mcp-session-id", await createSessionId(owner, negotiation, capabilities, { client }));
  return response;
}

async function answerBatch(
  authorized: AuthorizedRequest,
  messages: readonly RpcMessage[],
  {
    session,
    inbound: { version },
    acceptsStream: streams,
    limitFailures,
  }: PostContext & { readonly session: Session | null },
): Promise<Response> {
  const revision = session?.revision ?? (version === null ? DEFAULT_REVISION : findRevision2025(version));
  if (!revision)
    return respondFailure("2025", undefined, failure("invalidMetadata", "Bad MCP-Protocol-Version header"));
  const { request, clientAddress } = authorized.context;
  const hasRequests = messages.some(({ kind }) => kind === "request");
  const stream = new RequestStream(request, "2025", streams && hasRequests);
  const sink = createRequestOutput(stream, "2025");
  const reservation = MEMORY_BUDGET.createReservation(clientAddress);
  const running = runBatch(authorized, messages, { session, revision, limitFailures, sink, reservation });
  if (!hasRequests && (await running) === undefined) return respondAccepted();
  const respond = async (json: string[] | Failure = []): Promise<EncodedResponse> => {
    if (isFailure(json)) return encodeFailure(undefined, json, "2025");
    const { events } = stream;
    // A stream reserves memory for what it writes.
    if (events) reservation.release();
    // On a stream, each response is an event of its own: few clients expect a batch there.
    for (const one of events ? json.splice(0, json.length - 1) : [])
      await events?.writeInTurn(one.length, () => events.writeEvent(one));
    const body = { json: events ? json.join() : `[${json.join()}]` };
    const [first] = limitFailures;
    if (!first || limitFailures.includes(undefined)) return { ...body, status: 200, clientAddress };
    // Every message was over a limit, so the HTTP status shows it too.
    return { ...encodeFailure(undefined, first, "2025"), ...body };
  };
  const response = running.then(respond).finally(() => reservation.release());
  return respondWhenReady(response, { sink, stream, waitUntil: (work) => authorized.waitUntil(work) });
}

interface BatchContext {
  readonly session: Session | null;
  readonly revision: RevisionFeatures;
  readonly limitFailures?: PostContext["limitFailures"];
  /** Shared by all calls of the batch. */
  readonly sink: EventSink;
  /** For the responses, which wait for each other. */
  readonly reservation: MemoryReservation;
}

/** Two bytes for each character of a response, and again when the responses are joined. */
const RESPONSE_MEMORY = 4;

/**
 * The JSON of each response; undefined if no message expects one.
 * https://modelcontextprotocol.io/specification/2025-03-26/basic#batching
 */
export async function runBatch(
  authorized: AuthorizedRequest,
  messages: readonly RpcMessage[],
  { session, revision, limitFailures = [], sink, reservation }: BatchContext,
): Promise<string[] | Failure | undefined> {
  if (!revision.batches) {
    return failure("invalidRequest", `Invalid Request: revision ${revision.version} has no batches`);
  }
  const answers = await Promise.all(
    messages.map(async (message, at) => {
      const limitFailure = limitFailures[at];
      if (limitFailure) return message.kind === "request" ? encodeFailure(message.id, limitFailure, "2025") : undefined;
      if (message.kind === "invalid") {
        return encodeFailure(message.id, failure("invalidRequest", `Invalid Request: ${message.why}`), "2025");
      }
      if (message.kind === "request") {
        const call = { ...createRequest2025(authorized, message, revision, session), sink };
        const response = await handleRequest(authorized, call);
        const isReserved = reservation.resize(reservation.bytes + RESPONSE_MEMORY * response.json.length);
        return isReserved ? response : encodeFailure(message.id, NO_MEMORY, "2025");
      }
      // Notifications get no response, so their errors must not affect the other messages.
      await handleClientMessage(authorized, message, session).catch((error: unknown) => authorized.onError(error));
      return undefined;
    }),
  );
  const bodies = answers.filter((done) => done !== undefined).map((done) => done.json);
  return bodies.length === 0 ? undefined : bodies;
}

/** Handles a notification, or the client's response to a question. */
export async function handleClientMessage(
  caller: SessionCaller,
  message: RpcNotification | RpcResponse,
  session: Session | null,
): Promise<Response> {
  if (!session) return respondAccepted();
  if (message.kind === "notification") await handleClientNotification(caller, message, session);
  // A response that no question waits for is accepted too, and changes nothing.
  else if (isQuestionId(message.id)) {
    const { id } = message;
    const response = JSON.stringify(responseOf(message));
    await withRetries(() => caller.sessionStubs.sessionObject(session).answer(id, response));
  }
  return respondAccepted();
}

async function handleClientNotification(
  { sessionStubs }: SessionCaller,
  { method, params = {} }: RpcNotification,
  session: Session,
) {
  const { requestId: messageId, progressToken } = params;
  if (method === "notifications/cancelled" && isMessageId(messageId)) {
    const request = requestKey(messageId);
    await withRetries(() => sessionStubs.sessionObject(session).cancel(request, session.expires));
  }
  if (method === "notifications/progress" && isQuestionId(progressToken) && typeof params.progress === "number") {
    const { progress, total, message } = params;
    const progressJson = JSON.stringify({
      progress,
      ...(typeof total === "number" ? { total } : {}),
      ...(typeof message === "string" ? { message: message.slice(0, MAX_MESSAGE_CHARACTERS) } : {}),
    });
    await sessionStubs.sessionObject(session).progress(progressToken, progressJson);
  }
}

function responseOf({ result, error }: RpcResponse): ClientResponse {
  if (result !== undefined) return { result };
  const { code, message } = error ?? {};
  return {
    error: {
      code: typeof code === "number" ? code : 0,
      message: typeof message === "string" ? message.slice(0, MAX_MESSAGE_CHARACTERS) : "no message",
    },
  };
}
