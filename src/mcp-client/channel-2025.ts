// The common part of both transports of era 2025: sending requests and notifications, the handshake, and the retried
// delivery of answers. https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle

import { findRevision2025 } from "../protocol/revisions.ts";
import { notification, type JsonObject, type MessageId } from "../protocol/jsonrpc.ts";
import { pause, type Clock } from "./clock.ts";
import type { RequestOptions } from "./remote-endpoint.ts";
import { isTransientFault, McpFault } from "./fault.ts";
import { resultOf, type ResponseMessage } from "./message.ts";
import { buildRequest2025, type PreparedRequest } from "./prepared-request.ts";
import { readResponse, violation, type McpReply, type HandleMessage } from "./mcp-reply.ts";
import { createSession2025, type Session2025 } from "./session-2025.ts";

export interface Channel2025 {
  send(request: Pick<PreparedRequest, "id" | "text">, options?: RequestOptions): Promise<McpReply>;
  /** Sends a notification, or the answer to a question of the server. */
  sendOneWay(text: string, options?: RequestOptions): Promise<void>;
  /**
   * For a transport with one stream for everything: passes the server's notifications and questions to `handle` until
   * the returned function is called. Absent if these arrive with the answer.
   */
  listen?(handle: HandleMessage): () => void;
  /** Ends the session at the server. Absent if closing the connection ends it. */
  end?(options?: RequestOptions): Promise<unknown>;
}

export interface OpenedSession2025 {
  readonly session: Session2025;
  /** The server's answer to `initialize`. */
  readonly response: ResponseMessage;
}

/** `hello` is the params of `initialize`. `channel` returns the channel of a session, or of none yet. */
export async function handshake(
  channel: (session: Session2025 | undefined) => Channel2025,
  hello: JsonObject,
  id: MessageId,
  options: RequestOptions = {},
): Promise<OpenedSession2025> {
  const opened = await initialize2025(channel(undefined), hello, id, options);
  return confirm2025(channel(opened.session), opened, options);
}

/** First half of the handshake. The way in which it fails may show that the server is of an older kind. */
export async function initialize2025(
  channel: Channel2025,
  hello: JsonObject,
  id: MessageId,
  options: RequestOptions = {},
): Promise<OpenedSession2025> {
  const reply = await channel.send(buildRequest2025({ id, method: "initialize", params: hello }), options);
  const response = await readResponse(reply);
  const result = resultOf(response);
  if (result === undefined) throw new McpFault({ kind: "refused", http: reply.http, error: response, sent: "yes" });
  return { session: createSession2025(hello, result, reply.headers), response };
}

/** Second half, in the new session. If it fails, the unused session is ended. */
export async function confirm2025(
  channel: Channel2025,
  opened: OpenedSession2025,
  options: RequestOptions = {},
): Promise<OpenedSession2025> {
  const { revision } = opened.session;
  try {
    if (findRevision2025(revision) === undefined) {
      throw violation("unknownRevision", `unknown protocol version ${JSON.stringify(revision).slice(0, 64)}`);
    }
    await channel.sendOneWay(notification("notifications/initialized", {}), options);
    return opened;
  } catch (error) {
    // Without the caller's signal, which may be the cause. A failure here must not hide the original error.
    await channel.end?.({ limits: { ...options.limits, totalMs: END_TIMEOUT_MS } }).catch(() => undefined);
    throw error;
  }
}

const END_TIMEOUT_MS = 2000;
const RETRY_DELAYS_MS = [100, 500, 2000] as const;

export interface SendOneWayOptions extends RequestOptions {
  readonly clock: Clock;
  /** Checked before each retry, so that a server which accepts nothing does not cost four requests each time. */
  readonly mayRetry?: () => boolean;
}

/** Sends an answer that the server waits for, and retries if it may not have arrived. A duplicate does no harm. */
export async function sendOneWayWithRetry(
  channel: Pick<Channel2025, "sendOneWay">,
  text: string,
  { clock, mayRetry = () => true, ...options }: SendOneWayOptions,
): Promise<void> {
  for (const waitMs of RETRY_DELAYS_MS) {
    try {
      return await channel.sendOneWay(text, options);
    } catch (error) {
      const isRetryable = error instanceof McpFault && isTransientFault(error.fault) && mayRetry();
      if (!isRetryable || !(await pause(clock, waitMs, options.signal))) throw error;
    }
  }
  return channel.sendOneWay(text, options);
}
