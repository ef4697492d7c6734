// Owns the answers of era 2025: sessions that begin and end, requests, batches, and what a client says without asking.
// https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http

import type { Call, ClientResponse } from "../../protocol/backend.ts";
import type { Classified } from "../../protocol/classify.ts";
import { encodeAnswer, encodeFailure } from "../../protocol/dispatch.ts";
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
import { progressTokenOf } from "../../protocol/meta.ts";
import { isQuestionId, requestKey } from "../../sessions/call-runner.ts";
import { persistently } from "../../streams/persistently.ts";
import { findSession, ownerOf, type Owned } from "./find-session.ts";
import { answer, type Arrived } from "../endpoint.ts";
import { failureOf } from "../on-error.ts";
import { respondAccepted, respondAnswer, respondFailure } from "../respond.ts";
import { runCall } from "./calls.ts";
import { mintSession, type Session, type SessionOwner } from "../../sessions/session-id.ts";
import { NO_SINK } from "../call-sink.ts";

const MAX_MESSAGE_CHARACTERS = 1000;

function idOf(classified: Classified) {
  if (classified.kind === "request2026") return classified.message.id;
  return classified.kind === "message2025" && classified.message.kind === "request" ? classified.message.id : undefined;
}

type Classified2025 = Classified & { kind: "message2025" | "batch2025" };

export async function answer2025(arrived: Arrived, classified: Classified2025): Promise<Response> {
  try {
    return await answerClassified(arrived, classified);
  } catch (error) {
    arrived.onError(error);
    return respondFailure("2025", idOf(classified), failureOf(error, arrived.request));
  }
}

async function answerClassified(arrived: Arrived, classified: Classified2025): Promise<Response> {
  const { inbound } = arrived;
  const owner = ownerOf(arrived);
  if (classified.kind === "message2025" && isInitialize(classified.message)) {
    return answerInitialize(arrived, classified.message, owner);
  }
  const session = inbound.session === null ? null : await findSession(arrived, inbound.session);
  if (session === undefined) return respondFailure("2025", idOf(classified), failure("sessionNotFound"));
  if (classified.kind === "batch2025") return answerBatch(arrived, classified.messages, session);
  const { message } = classified;
  if (message.kind !== "request") return hear(arrived, message, session);
  return runCall(arrived, call2025(arrived, message, session?.dialect ?? classified.dialect, session), session);
}

export function isInitialize(message: RpcMessage): message is RpcRequest {
  return message.kind === "request" && message.method === "initialize";
}

export function call2025(arrived: Arrived, message: RpcRequest, dialect: Dialect, session: Session | null): Call {
  return {
    dialect,
    id: message.id,
    method: message.method,
    params: message.params ?? {},
    capabilities: session?.capabilities ?? {},
    progressToken: progressTokenOf(message.params),
    logLevel: undefined,
    session: session === null ? undefined : arrived.doors.sessionPort(session),
    sink: NO_SINK,
    header: () => null,
    now: Date.now,
  };
}

async function answerInitialize(arrived: Arrived, message: RpcRequest, owner: SessionOwner): Promise<Response> {
  const initialized = initialize(message.params ?? {}, arrived.served);
  if (initialized.kind === "failure") return respondFailure("2025", message.id, initialized);
  const { negotiated, capabilities, result } = initialized;
  const { json } = encodeAnswer(message.id, { kind: "complete", result }, negotiated.dialect, arrived.served.server);
  const response = respondAnswer({ json, status: 200 });
  // Without the authority's keys nothing can be sealed: the client goes on without a session.
  if (owner.ring.length > 0) {
    response.headers.set("mcp-session-id", await mintSession(owner, negotiated, capabilities));
  }
  return response;
}

async function answerBatch(
  arrived: Arrived,
  messages: readonly RpcMessage[],
  session: Session | null,
): Promise<Response> {
  const { version } = arrived.inbound;
  const dialect = session?.dialect ?? (version === null ? DEFAULT_DIALECT : dialect2025(version));
  if (!dialect) return respondFailure("2025", undefined, failure("invalidEnvelope", "Bad MCP-Protocol-Version header"));
  const json = await runBatch(arrived, messages, { session, dialect });
  if (json === undefined) return respondAccepted();
  return isFailure(json) ? respondFailure("2025", undefined, json) : respondAnswer({ json, status: 200 });
}

/** The JSON of all answers; undefined: nothing was asked. https://modelcontextprotocol.io/specification/2025-03-26/basic#batching */
export async function runBatch(
  arrived: Arrived,
  messages: readonly RpcMessage[],
  { session, dialect }: { readonly session: Session | null; readonly dialect: Dialect },
): Promise<string | Failure | undefined> {
  if (!dialect.batches) {
    return failure("invalidRequest", `Invalid Request: revision ${dialect.revision} has no batches`);
  }
  const answers = await Promise.all(
    messages.map(async (message) => {
      if (message.kind === "invalid") {
        return encodeFailure(message.id, failure("invalidRequest", `Invalid Request: ${message.why}`), "2025");
      }
      if (message.kind === "request") return answer(arrived, call2025(arrived, message, dialect, session));
      await hear(arrived, message, session);
      return undefined;
    }),
  );
  const bodies = answers.filter((done) => done !== undefined).map((done) => done.json);
  return bodies.length === 0 ? undefined : `[${bodies.join(",")}]`;
}

/** A notification, or the client's answer to a question. */
export async function hear(
  arrived: Owned,
  message: RpcNotification | RpcResponse,
  session: Session | null,
): Promise<Response> {
  if (!session) return respondAccepted();
  if (message.kind === "notification") await hearNotification(arrived, message, session);
  // What nobody asked, or knows already, is taken too, and changes nothing.
  else if (isQuestionId(message.id)) {
    const { id } = message;
    const response = JSON.stringify(responseOf(message));
    await persistently(() => arrived.doors.sessionObject(session).answer(id, response));
  }
  return respondAccepted();
}

async function hearNotification({ doors }: Owned, { method, params = {} }: RpcNotification, session: Session) {
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
