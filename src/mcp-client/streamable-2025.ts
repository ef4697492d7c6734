// Streamable HTTP of 2025-03-26 to 2025-11-25: requests in a session with resumable answers, notifications, and
// starting and ending a session. A request is never sent twice: if the session is gone, the caller decides.
// https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http

import type { JsonObject, MessageId } from "../protocol/jsonrpc.ts";
import { createStreamBudget } from "./stream-budget.ts";
import { handshake, type Channel2025, type OpenedSession2025 } from "./channel-2025.ts";
import { limitsOf, type RemoteEndpoint, type RequestOptions } from "./remote-endpoint.ts";
import { exchange, openStream } from "./exchange.ts";
import { McpFault, httpStatusOf } from "./fault.ts";
import { assertAccepted, closeAnswer, type HttpAnswer } from "./http-answer.ts";
import type { PreparedRequest } from "./prepared-request.ts";
import type { McpReply } from "./mcp-reply.ts";
import { toResumableReply } from "./resumable-reply.ts";
import { sessionHeaders, parseSessionIdHeader, type Session2025 } from "./session-2025.ts";

/** Only `initialize` is sent without a session. */
export async function send2025(
  endpoint: RemoteEndpoint,
  session: Session2025 | undefined,
  { id, text }: Pick<PreparedRequest, "id" | "text">,
  options: RequestOptions = {},
): Promise<McpReply> {
  const all = limitsOf(endpoint, options);
  const startedAt = endpoint.clock.now();
  const headers = sessionHeaders(session);
  const posted = { method: "POST", headers, body: text } as const;
  const streamBudget = createStreamBudget(all, endpoint.clock);
  const first = await exchange(endpoint, posted, { ...options, streamBudget });
  // The answer to `initialize` may break off too. Its session has started by then, with the id in the response headers.
  const startedSessionId = session === undefined ? startedSessionIdOf(first) : undefined;
  const resumeHeaders = startedSessionId === undefined ? headers : { ...headers, "mcp-session-id": startedSessionId };
  return toResumableReply(first, {
    id,
    clock: endpoint.clock,
    signal: options.signal,
    totalMs: all.totalMs,
    startedAt,
    reopen: async (lastEventId, remaining) => {
      const limits = { ...options.limits, totalMs: remaining.totalMs };
      const resumed = { headers: resumeHeaders, lastEventId };
      return openStream(endpoint, resumed, { signal: remaining.signal, limits, streamBudget });
    },
  });
}

/** Validated before the id is sent back in a header. */
function startedSessionIdOf(answer: HttpAnswer): string | undefined {
  try {
    return parseSessionIdHeader(answer.headers);
  } catch (error) {
    closeAnswer(answer);
    throw error;
  }
}

/** Sends a notification, or the answer to a question of the server. */
export async function sendOneWay2025(
  endpoint: RemoteEndpoint,
  session: Session2025 | undefined,
  text: string,
  options: RequestOptions = {},
): Promise<void> {
  const request = { method: "POST", headers: sessionHeaders(session), body: text, isOneWay: true } as const;
  const answer = await exchange(endpoint, request, options);
  closeAnswer(answer);
  assertAccepted(answer);
}

/** A channel for one session. Only `initialize` uses it without a session. */
export function streamable2025(endpoint: RemoteEndpoint, session: Session2025 | undefined): Channel2025 {
  return {
    send: async (request, options) => send2025(endpoint, session, request, options),
    sendOneWay: async (text, options) => sendOneWay2025(endpoint, session, text, options),
    ...(session && { end: async (options?: RequestOptions) => end2025(endpoint, session, options) }),
  };
}

/** Runs the handshake. `hello` is the params of `initialize`. */
export async function open2025(
  endpoint: RemoteEndpoint,
  hello: JsonObject,
  id: MessageId,
  options: RequestOptions = {},
): Promise<OpenedSession2025> {
  return handshake((session) => streamable2025(endpoint, session), hello, id, options);
}

/** Returns false if the server does not let clients end sessions. */
export async function end2025(
  endpoint: RemoteEndpoint,
  session: Session2025,
  options: RequestOptions = {},
): Promise<boolean> {
  if (session.id === undefined) return false;
  try {
    const request = { method: "DELETE", headers: sessionHeaders(session), isOneWay: true } as const;
    closeAnswer(await exchange(endpoint, request, options));
    return true;
  } catch (error) {
    if (!(error instanceof McpFault)) throw error;
    if (error.fault.kind === "sessionGone") return true;
    if (httpStatusOf(error.fault) === 405) return false;
    throw error;
  }
}
