// Owns the stream of a 2025 session on which a server speaks unasked: it is opened, and continued where it stopped, for
// as long as somebody reads. Refuses to insist where a server has no such stream.
// https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#listening-for-messages-from-the-server

import { createStreamBudget } from "./allowance.ts";
import { Backoff } from "./backoff.ts";
import type { TokenBucket } from "./budget.ts";
import type { RemoteEndpoint, RequestOptions } from "./remote-endpoint.ts";
import { openStream } from "./exchange.ts";
import { isTransientFault, McpFault, retryAfterMs, httpStatusOf, type Fault } from "./fault.ts";
import type { OpenStream } from "./http-answer.ts";
import { STREAM_LIMITS, type AnswerLimits } from "./answer-limits.ts";
import type { NotificationMessage, RequestMessage } from "./message.ts";
import { withCloseOnReturn } from "./mcp-reply.ts";
import { sessionHeaders, type Session2025 } from "./session-2025.ts";
import { withReconnect, type Dropped } from "./reconnecting.ts";
import { CancelSignal } from "./stop.ts";

export type GetStreamEvent =
  | { readonly kind: "opened" }
  | {
      readonly kind: "message";
      readonly message: RequestMessage | NotificationMessage;
      /** Lets another reader continue after this message. */
      readonly lastEventId: string | undefined;
    }
  | Dropped;

export interface GetStreamOptions extends RequestOptions {
  /** Where another reader stopped. */
  readonly lastEventId?: string | undefined;
}

/**
 * Ends where the server has no such stream, and when the signal comes. Throws where the server refuses it;
 * `sessionGone` only where the stream has been open, because servers without it say 404 too.
 */
export function followGetStream(
  endpoint: RemoteEndpoint,
  session: Session2025,
  options: GetStreamOptions = {},
): AsyncIterableIterator<GetStreamEvent, void, void> {
  const follower = new GetStreamFollower(endpoint, session, options);
  return withCloseOnReturn(follower.events(), () => follower.close());
}

class GetStreamFollower {
  readonly #endpoint: RemoteEndpoint;
  readonly #session: Session2025;
  readonly #cancelSignal: CancelSignal;
  readonly #backoff: Backoff;
  readonly #limits: AnswerLimits;
  /** Of all connections: one that is broken off and opened again brings no new ones. */
  readonly #lines: TokenBucket;
  #stream: OpenStream | undefined;
  #lastEventId: string | undefined;
  #retryMs: number | undefined;
  #hasBeenOpen: boolean;

  constructor(endpoint: RemoteEndpoint, session: Session2025, options: GetStreamOptions) {
    this.#endpoint = endpoint;
    this.#session = session;
    this.#cancelSignal = new CancelSignal(options.signal);
    this.#backoff = new Backoff(endpoint.clock);
    this.#limits = { ...STREAM_LIMITS, ...options.limits };
    this.#lines = createStreamBudget(this.#limits, endpoint.clock).lines;
    this.#lastEventId = options.lastEventId;
    this.#hasBeenOpen = options.lastEventId !== undefined;
  }

  events(): AsyncGenerator<GetStreamEvent, void, void> {
    return withReconnect<GetStreamEvent>({
      clock: this.#endpoint.clock,
      cancelSignal: this.#cancelSignal,
      connectOnce: () => this.#connectOnce(),
      nextDelayMs: (fault) => this.#nextDelayMs(fault),
    });
  }

  close(): void {
    this.#cancelSignal.end();
  }

  /** One connection. Returns why it broke; undefined where there is no reason to try again. */
  async *#connectOnce(): AsyncGenerator<GetStreamEvent, Fault | undefined, void> {
    let openedAt: number | undefined;
    try {
      const request = { headers: sessionHeaders(this.#session), lastEventId: this.#lastEventId };
      const options = { signal: this.#cancelSignal.signal, limits: this.#limits, streamBudget: { lines: this.#lines } };
      this.#stream = await openStream(this.#endpoint, request, options);
      this.#hasBeenOpen = true;
      openedAt = this.#endpoint.clock.now();
      yield { kind: "opened" };
      yield* this.#read(this.#stream);
      return { kind: "unanswered", http: this.#stream.http, sent: "yes" };
    } catch (error) {
      if (!(error instanceof McpFault)) throw error;
      return this.#toRetryableFault(error);
    } finally {
      const openMs = openedAt === undefined ? undefined : this.#endpoint.clock.now() - openedAt;
      if (openMs !== undefined) this.#backoff.recordConnection(openMs, this.#stream?.events.hasEvents === true);
      const position = this.#stream?.events.position;
      this.#lastEventId = position === undefined ? this.#lastEventId : position.lastEventId;
      this.#retryMs = position?.retryMs ?? this.#retryMs;
      // A reader may leave at an event. Not every platform ends a body when its request is aborted.
      this.#stream?.events.close();
    }
  }

  async *#read({ events }: OpenStream): AsyncGenerator<GetStreamEvent, void, void> {
    for (let messages = await events.nextMessages(); messages; messages = await events.nextMessages()) {
      const { lastEventId } = events.position;
      for (const message of messages) {
        // Responses have no business on this stream.
        if (message.kind !== "response") yield { kind: "message", message, lastEventId };
      }
    }
  }

  #toRetryableFault(error: McpFault): Fault | undefined {
    const { fault } = error;
    if (this.#cancelSignal.signal.aborted || httpStatusOf(fault) === 405) return undefined;
    if (isTransientFault(fault)) return fault;
    if (fault.kind === "sessionGone" && !this.#hasBeenOpen) {
      throw new McpFault({ kind: "status", http: fault.http, sent: "yes" }, error);
    }
    throw error;
  }

  #nextDelayMs(fault: Fault): number {
    const retryAfter = retryAfterMs(fault, this.#endpoint.clock.now());
    const longest = Math.max(this.#retryMs ?? 0, retryAfter ?? 0);
    return this.#backoff.nextDelayMs(this.#retryMs === undefined && retryAfter === undefined ? undefined : longest);
  }
}
