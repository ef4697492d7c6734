// A `subscriptions/listen` that outlives its connection. Sent again until the server ends or refuses it, or until the
// caller stops reading. A subscription that never worked is not retried, and a reconnect is reported because
// notifications may have been missed.
// https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions

import { isObject } from "../protocol/jsonrpc.ts";
import { createStreamBudget } from "./stream-budget.ts";
import { Backoff } from "./backoff.ts";
import type { TokenBucket } from "./token-bucket.ts";
import type { RemoteEndpoint, RequestOptions } from "./remote-endpoint.ts";
import { exchange } from "./exchange.ts";
import { isTransientFault, McpFault, retryAfterMs, type Fault } from "./fault.ts";
import { rpcErrorFault, type HttpAnswer } from "./http-answer.ts";
import { STREAM_LIMITS, type AnswerLimits } from "./answer-limits.ts";
import { paramsOf, type NotificationMessage, type ResponseMessage } from "./message.ts";
import type { PreparedRequest } from "./prepared-request.ts";
import { readAnswerMessages, ResponseMatcher, withCloseOnReturn, violation } from "./mcp-reply.ts";
import { withReconnect, type Dropped } from "./reconnect.ts";
import { CancelSignal } from "./cancel-signal.ts";

/** The notifications that a client wants, or that a server agreed to send. */
export interface ListenFilter2026 {
  readonly toolsListChanged?: boolean;
  readonly promptsListChanged?: boolean;
  readonly resourcesListChanged?: boolean;
  readonly resourceSubscriptions?: readonly string[];
}

export type ListenEvent =
  /** The server acknowledged the subscription. On a reconnect, notifications in between were missed. */
  | {
      readonly kind: "listening";
      readonly isReconnect: boolean;
      readonly filter: ListenFilter2026;
      readonly message: NotificationMessage;
    }
  | { readonly kind: "notification"; readonly message: NotificationMessage }
  | Dropped
  /** The server ended the subscription normally. Nothing follows. */
  | { readonly kind: "ended"; readonly message: ResponseMessage };

export interface ListenOptions extends RequestOptions {
  /** An earlier subscription has worked, so an unreachable server is retried. */
  readonly hasWorked?: boolean | undefined;
}

const ACKNOWLEDGED = "notifications/subscriptions/acknowledged";

/** Ends after `ended`, or when the signal aborts. Throws if the server refuses, or if the subscription never worked. */
export function listen2026(
  endpoint: RemoteEndpoint,
  request: PreparedRequest,
  options: ListenOptions = {},
): AsyncIterableIterator<ListenEvent, void, void> {
  const listener = new Listener(endpoint, request, options);
  return withCloseOnReturn(listener.events(), () => listener.close());
}

class Listener {
  readonly #endpoint: RemoteEndpoint;
  readonly #request: PreparedRequest;
  readonly #cancelSignal: CancelSignal;
  readonly #backoff: Backoff;
  readonly #limits: AnswerLimits;
  /** Shared by all connections, so that reconnecting does not renew the budget. */
  readonly #lines: TokenBucket;
  #answer: HttpAnswer | undefined;
  #hasWorked: boolean;
  #hasBeenOpen = false;
  /** When this connection's subscription was acknowledged. */
  #openedAt: number | undefined;

  constructor(endpoint: RemoteEndpoint, request: PreparedRequest, options: ListenOptions) {
    this.#endpoint = endpoint;
    this.#request = request;
    this.#cancelSignal = new CancelSignal(options.signal);
    this.#backoff = new Backoff(endpoint.clock);
    this.#limits = { ...STREAM_LIMITS, ...options.limits };
    this.#lines = createStreamBudget(this.#limits, endpoint.clock).lines;
    this.#hasWorked = options.hasWorked === true;
  }

  events(): AsyncGenerator<ListenEvent, void, void> {
    return withReconnect<ListenEvent>({
      clock: this.#endpoint.clock,
      cancelSignal: this.#cancelSignal,
      connectOnce: () => this.#connectOnce(),
      nextDelayMs: (fault) => this.#nextDelayMs(fault),
    });
  }

  close(): void {
    this.#cancelSignal.end();
  }

  /** One connection. Returns why it broke, or undefined if there is no reason to retry. */
  async *#connectOnce(): AsyncGenerator<ListenEvent, Fault | undefined, void> {
    try {
      const { headers, text } = this.#request;
      const posted = { method: "POST", headers, body: text } as const;
      const options = { signal: this.#cancelSignal.signal, limits: this.#limits, streamBudget: { lines: this.#lines } };
      this.#answer = await exchange(this.#endpoint, posted, options);
      const refusal = rpcErrorFault(this.#answer);
      if (refusal) throw refusal;
      yield* this.#read(this.#answer);
      return undefined;
    } catch (error) {
      if (!(error instanceof McpFault)) throw error;
      if (this.#cancelSignal.signal.aborted) return undefined;
      if (!this.#hasWorked || !isRetryable(error.fault)) throw error;
      if (this.#openedAt !== undefined)
        this.#backoff.recordConnection(this.#endpoint.clock.now() - this.#openedAt, true);
      this.#openedAt = undefined;
      return error.fault;
    }
  }

  async *#read(current: HttpAnswer): AsyncGenerator<ListenEvent, void, void> {
    let isFirst = true;
    for await (const message of readAnswerMessages(current, new ResponseMatcher(this.#request.id))) {
      if (message.kind === "response") {
        // The server refused on the stream, or ended the subscription with an error.
        if (message.error !== undefined) {
          throw new McpFault({ kind: "refused", http: current.http, error: message, sent: "yes" });
        }
        yield { kind: "ended", message };
        return;
      }
      if (message.kind === "request") continue;
      if (message.method === ACKNOWLEDGED) yield this.#acknowledge(message);
      else if (isFirst) throw violation("notAcknowledged", `${message.method} came before the acknowledgement`);
      else yield { kind: "notification", message };
      isFirst = false;
    }
  }

  #acknowledge(message: NotificationMessage): ListenEvent {
    const { notifications } = paramsOf(message);
    const isReconnect = this.#hasBeenOpen;
    this.#hasBeenOpen = true;
    this.#hasWorked = true;
    this.#openedAt = this.#endpoint.clock.now();
    return { kind: "listening", isReconnect, filter: isObject(notifications) ? notifications : {}, message };
  }

  #nextDelayMs(fault: Fault): number {
    const retryAfter = retryAfterMs(fault, this.#endpoint.clock.now());
    const retry = this.#answer?.kind === "stream" ? this.#answer.events.position.retryMs : undefined;
    const delays = [retryAfter, retry].filter((ms) => ms !== undefined);
    return this.#backoff.nextDelayMs(delays.length === 0 ? undefined : Math.max(...delays));
  }
}

/** The stream was cut, or the server is temporarily unavailable. Neither is a refusal. */
function isRetryable(fault: Fault): boolean {
  return isTransientFault(fault) || fault.kind === "unanswered";
}

/** The notification for each list in a filter. */
export const LIST_CHANGED = {
  toolsListChanged: "notifications/tools/list_changed",
  promptsListChanged: "notifications/prompts/list_changed",
  resourcesListChanged: "notifications/resources/list_changed",
} as const;

const LISTS = Object.keys(LIST_CHANGED) as (keyof typeof LIST_CHANGED)[];

export const RESOURCE_UPDATED = "notifications/resources/updated";

export function missingFrom(filter: ListenFilter2026, requested: ListenFilter2026): string[] {
  const lists = LISTS.filter((list) => requested[list] === true && filter[list] !== true);
  const uris = new Set(filter.resourceSubscriptions);
  return [...lists, ...(requested.resourceSubscriptions ?? []).filter((uri) => !uris.has(uri))];
}
