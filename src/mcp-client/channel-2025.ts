// Owns what both transports of era 2025 have in common: sending requests and notifications, the handshake, and an
// answer to the server that must arrive. Refuses to know how messages travel.
// https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle

import { dialect2025 } from "../protocol/era.ts";
import { notification, type JsonObject, type RequestId } from "../protocol/jsonrpc.ts";
import { pause, type Clock } from "./clock.ts";
import type { RequestOptions } from "./remote-endpoint.ts";
import { isPassing, McpFault } from "./fault.ts";
import { resultOf, type ResponseMessage } from "./message.ts";
import { request2025, type Outgoing } from "./outgoing.ts";
import { responseOf, violation, type McpReply, type TakeMessage } from "./mcp-reply.ts";
import { beginSession, type Session2025 } from "./session-2025.ts";

export interface Channel2025 {
  send(request: Pick<Outgoing, "id" | "text">, options?: RequestOptions): Promise<McpReply>;
  /** A notification, or the answer to something that the server asked. */
  tell(text: string, options?: RequestOptions): Promise<void>;
  /**
   * Where everything comes on one stream: hands what the server says or asks to `take`, until the function that it gives is
   * called. Absent where that comes with the answer.
   */
  listen?(take: TakeMessage): () => void;
  /** Ends the session at the server; absent where closing the connection does. */
  end?(options?: RequestOptions): Promise<unknown>;
}

export interface Opened2025 {
  readonly session: Session2025;
  /** What the server says about itself. */
  readonly answer: ResponseMessage;
}

/** `hello` is the params of `initialize`; `channel` is that of a session, or of none yet. */
export async function handshake(
  channel: (session: Session2025 | undefined) => Channel2025,
  hello: JsonObject,
  id: RequestId,
  options: RequestOptions = {},
): Promise<Opened2025> {
  const begun = await initialize2025(channel(undefined), hello, id, options);
  return confirm2025(channel(begun.session), begun, options);
}

/** The first half of a handshake: how a server fails here may say that it is of an older kind. */
export async function initialize2025(
  channel: Channel2025,
  hello: JsonObject,
  id: RequestId,
  options: RequestOptions = {},
): Promise<Opened2025> {
  const reply = await channel.send(request2025({ id, method: "initialize", params: hello }), options);
  const answer = await responseOf(reply);
  const result = resultOf(answer);
  if (result === undefined) throw new McpFault({ kind: "refused", http: reply.http, error: answer, sent: "yes" });
  return { session: beginSession(hello, result, reply.headers), answer };
}

/** The second half, in the session that has begun. Where it fails nobody will use that session, so it is ended. */
export async function confirm2025(
  channel: Channel2025,
  begun: Opened2025,
  options: RequestOptions = {},
): Promise<Opened2025> {
  const { revision } = begun.session;
  try {
    if (dialect2025(revision) === undefined) {
      throw violation("unknownRevision", `the server speaks ${JSON.stringify(revision).slice(0, 64)}`);
    }
    await channel.tell(notification("notifications/initialized", {}), options);
    return begun;
  } catch (error) {
    // Without the caller's signal, which may be why it failed. What goes wrong now is not what the caller has to hear.
    await channel.end?.({ limits: { ...options.limits, totalMs: GOODBYE_MS } }).catch(() => undefined);
    throw error;
  }
}

const GOODBYE_MS = 2000;
const PAUSES_MS = [100, 500, 2000] as const;

export interface Telling extends RequestOptions {
  readonly clock: Clock;
  /** Is asked before each repetition, so that a server which takes nothing does not cost four requests each time. */
  readonly mayRepeat?: () => boolean;
}

/** Sends an answer that the server waits for, again if it may not have arrived: getting it twice does no harm. */
export async function tellUntilTaken(
  channel: Pick<Channel2025, "tell">,
  text: string,
  { clock, mayRepeat = () => true, ...options }: Telling,
): Promise<void> {
  for (const waitMs of PAUSES_MS) {
    try {
      return await channel.tell(text, options);
    } catch (error) {
      const isWorthIt = error instanceof McpFault && isPassing(error.fault) && mayRepeat();
      if (!isWorthIt || !(await pause(clock, waitMs, options.signal))) throw error;
    }
  }
  return channel.tell(text, options);
}
