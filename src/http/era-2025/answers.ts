// Owns the answers of era 2025: sessions that begin and end, requests, batches, and what a client says without asking.
// https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http

import type { Call, ClientResponse, EventSink } from "../../protocol/call.ts";
import type { Classified } from "../../protocol/classify.ts";
import { encodeAnswer, encodeFailure, type Answer } from "../../protocol/dispatch.ts";
import { DEFAULT_DIALECT, dialect2025, type Dialect } from "../../protocol/era.ts";
import { failure, type Failure } from "../../protocol/errors.ts";
import {
  isRequestId,
  type RpcMessage,
  type RpcNotification,
  type RpcRequest,
  type RpcResponse,
} from "../../protocol/jsonrpc.ts";
import { isFailure } from "../../protocol/methods/params.ts";
import { initialize } from "../../protocol/methods/lifecycle.ts";
import { clientOf, progressTokenOf } from "../../protocol/meta.ts";
import { isQuestionId, requestKey } from "../../sessions/call-runner.ts";
import { persistently } from "../../streams/persistently.ts";
import { findSession, ownerOf } from "../../sessions/find-session.ts";
import type { SessionCaller } from "../../sessions/session-caller.ts";
import { answer } from "../answer.ts";
import type { Entered } from "../entered.ts";
import type { InboundHeaders } from "../../protocol/classify.ts";
import { failureOf } from "../on-error.ts";
import { requestSink, RequestStream } from "../request-stream.ts";
import { respondAccepted, respondAnswer, respondFailure, respondWhenReady } from "../respond.ts";
import { runCall } from "./calls.ts";
import { mintSession, type Session } from "../../sessions/session-id.ts";
import { NO_SINK } from "../call-sink.ts";

/** Of a client's progress or error message; the rest is cut off. */
const MAX_MESSAGE_CHARACTERS = 1000;

function idOf(classified: Classified) {
  if (classified.kind === "request2026") return classified.message.id;
  return classified.kind === "message2025" && classified.message.kind === "request" ? classified.message.id : undefined;
}

type Classified2025 = Classified & { kind: "message2025" | "batch2025" };

/** What a POST says beside its body. */
export interface Posting {
  readonly inbound: InboundHeaders;
  /** The client accepts text/event-stream. */
  readonly streams: boolean;
  /** Of a batch: what is over a limit, at the place of its message. */
  readonly limited: readonly (Failure | undefined)[];
}

export async function answer2025(entered: Entered, classified: Classified2025, posting: Posting): Promise<Response> {
  try {
    return await answerClassified(entered, classified, posting);
  } catch (error) {
    entered.onError(error);
    return respondFailure("2025", idOf(classified), failureOf(error, entered.visit.request));
  }
}

async function answerClassified(
  entered: Entered,
  classified: Classified2025,
  { inbound, streams, limited }: Posting,
): Promise<Response> {
  if (classified.kind === "message2025" && isInitialize(classified.message)) {
    return answerInitialize(entered, classified.message);
  }
  const session = inbound.session === null ? null : await findSession(entered, inbound.session);
  if (session === undefined) return respondFailure("2025", idOf(classified), failure("sessionNotFound"));
  if (classified.kind === "batch2025")
    return answerBatch(entered, classified.messages, { session, inbound, streams, limited });
  const { message } = classified;
  if (message.kind !== "request") return hear(entered, message, session);
  const call = call2025(entered, message, session?.dialect ?? classified.dialect, session);
  return runCall(entered, call, { session, streams });
}

export function isInitialize(message: RpcMessage): message is RpcRequest {
  return message.kind === "request" && message.method === "initialize";
}

export function call2025(
  { doors }: SessionCaller,
  message: RpcRequest,
  dialect: Dialect,
  session: Session | null,
): Call {
  return {
    dialect,
    id: message.id,
    method: message.method,
    params: message.params ?? {},
    capabilities: session?.capabilities ?? {},
    progressToken: progressTokenOf(message.params),
    logLevel: undefined,
    session: session === null ? undefined : doors.sessionPort(session),
    sink: NO_SINK,
    header: () => null,
    now: Date.now,
  };
}

async function answerInitialize(entered: Entered, message: RpcRequest): Promise<Response> {
  const initialized = initialize(message.params ?? {}, entered.backend);
  if (initialized.kind === "failure") return respondFailure("2025", message.id, initialized);
  const { negotiated, capabilities, result } = initialized;
  const { json } = encodeAnswer(message.id, { kind: "complete", result }, negotiated.dialect, entered.view.server);
  const owner = ownerOf(entered);
  const response = respondAnswer({ json, status: 200 });
  const client = clientOf(message.params?.clientInfo);
  response.headers.set("mcp-session-id", await mintSession(owner, negotiated, capabilities, { client }));
  return response;
}

async function answerBatch(
  entered: Entered,
  messages: readonly RpcMessage[],
  { session, inbound: { version }, streams, limited }: Posting & { readonly session: Session | null },
): Promise<Response> {
  const dialect = session?.dialect ?? (version === null ? DEFAULT_DIALECT : dialect2025(version));
  if (!dialect) return respondFailure("2025", undefined, failure("invalidEnvelope", "Bad MCP-Protocol-Version header"));
  const { request, address: holder } = entered.visit;
  const isAsked = messages.some(({ kind }) => kind === "request");
  const stream = new RequestStream(request, "2025", streams && isAsked);
  const sink = requestSink(stream, "2025");
  const running = runBatch(entered, messages, { session, dialect, limited, sink });
  if (!isAsked && (await running) === undefined) return respondAccepted();
  const answered = running.then(async (json = []): Promise<Answer> => {
    if (isFailure(json)) return encodeFailure(undefined, json, "2025");
    const { events } = stream;
    // On a stream each is an event: few clients look for a batch there.
    for (const one of events ? json.splice(0, json.length - 1) : [])
      await events?.inTurn(one.length, () => events.event(one));
    const whole = { json: events ? json.join() : `[${json.join()}]` };
    const [first] = limited;
    if (!first || limited.includes(undefined)) return { ...whole, status: 200, holder };
    // Nothing was answered, so the status says it too.
    return { ...encodeFailure(undefined, first, "2025"), ...whole };
  });
  return respondWhenReady(answered, { sink, stream, waitUntil: (work) => entered.waitUntil(work) });
}

interface BatchContext {
  readonly session: Session | null;
  readonly dialect: Dialect;
  readonly limited?: Posting["limited"];
  /** Of all its calls. */
  readonly sink: EventSink;
}

/**
 * The JSON of each answer; undefined: no message asked for one.
 * https://modelcontextprotocol.io/specification/2025-03-26/basic#batching
 */
export async function runBatch(
  entered: Entered,
  messages: readonly RpcMessage[],
  { session, dialect, limited = [], sink }: BatchContext,
): Promise<string[] | Failure | undefined> {
  if (!dialect.batches) {
    return failure("invalidRequest", `Invalid Request: revision ${dialect.revision} has no batches`);
  }
  const answers = await Promise.all(
    messages.map(async (message, at) => {
      const over = limited[at];
      if (over) return message.kind === "request" ? encodeFailure(message.id, over, "2025") : undefined;
      if (message.kind === "invalid") {
        return encodeFailure(message.id, failure("invalidRequest", `Invalid Request: ${message.why}`), "2025");
      }
      if (message.kind === "request") return answer(entered, { ...call2025(entered, message, dialect, session), sink });
      // Nobody is answered for it, so what fails is nobody else's.
      await hear(entered, message, session).catch((error: unknown) => entered.onError(error));
      return undefined;
    }),
  );
  const bodies = answers.filter((done) => done !== undefined).map((done) => done.json);
  return bodies.length === 0 ? undefined : bodies;
}

/** Takes a notification, or the client's response to a question. */
export async function hear(
  caller: SessionCaller,
  message: RpcNotification | RpcResponse,
  session: Session | null,
): Promise<Response> {
  if (!session) return respondAccepted();
  if (message.kind === "notification") await hearNotification(caller, message, session);
  // A response that no question waits for is accepted too, and changes nothing.
  else if (isQuestionId(message.id)) {
    const { id } = message;
    const response = JSON.stringify(responseOf(message));
    await persistently(() => caller.doors.sessionObject(session).answer(id, response));
  }
  return respondAccepted();
}

async function hearNotification({ doors }: SessionCaller, { method, params = {} }: RpcNotification, session: Session) {
  const { requestId, progressToken } = params;
  if (method === "notifications/cancelled" && isRequestId(requestId)) {
    const request = requestKey(requestId);
    await persistently(() => doors.sessionObject(session).cancel(request, session.expires));
  }
  if (method === "notifications/progress" && isQuestionId(progressToken) && typeof params.progress === "number") {
    const { progress, total, message } = params;
    const said = JSON.stringify({
      progress,
      ...(typeof total === "number" ? { total } : {}),
      ...(typeof message === "string" ? { message: message.slice(0, MAX_MESSAGE_CHARACTERS) } : {}),
    });
    await doors.sessionObject(session).progress(progressToken, said);
  }
}

function responseOf({ result, error }: RpcResponse): ClientResponse {
  if (result !== undefined) return { result };
  const { code, message } = error ?? {};
  return {
    error: {
      code: typeof code === "number" ? code : 0,
      message: typeof message === "string" ? message.slice(0, MAX_MESSAGE_CHARACTERS) : "without a word",
    },
  };
}
