// Owns a `subscriptions/listen` that outlives its connection: it is sent again until the server ends or refuses it, or
// nobody reads any more. Refuses to try again where it never worked, and to hide that something may have been missed.
// https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions

import { isObject } from "../protocol/jsonrpc.ts";
import { createStreamBudget } from "./allowance.ts";
import { Backoff } from "./backoff.ts";
import type { TokenBucket } from "./budget.ts";
import type { RemoteEndpoint, RequestOptions } from "./remote-endpoint.ts";
import { exchange } from "./exchange.ts";
import { isTransientFault, McpFault, retryAfterMs, type Fault } from "./fault.ts";
import { rpcErrorFault, type HttpAnswer } from "./http-answer.ts";
import { STREAM_LIMITS, type AnswerLimits } from "./answer-limits.ts";
import { paramsOf, type NotificationMessage, type ResponseMessage } from "./message.ts";
import type { PreparedRequest } from "./outgoing.ts";
import { readAnswerMessages, ResponseMatcher, withCloseOnReturn, violation } from "./mcp-reply.ts";
import { withReconnect, type Dropped } from "./reconnecting.ts";
import { CancelSignal } from "./stop.ts";

/** What a client wants to be told, or what a server agreed to tell. */
export interface ListenFilter2026 {
  readonly toolsListChanged?: boolean;
  readonly promptsListChanged?: boolean;
  readonly resourcesListChanged?: boolean;
  readonly resourceSubscriptions?: readonly string[];
}

export type ListenEvent =
  /** The server has acknowledged the subscription. If it is not the first time, what happened in between was missed. */
  | {
      readonly kind: "listening";
      readonly isReconnect: boolean;
      readonly filter: ListenFilter2026;
      readonly message: NotificationMessage;
    }
  | { readonly kind: "notification"; readonly message: NotificationMessage }
  | Dropped
  /** The server has ended it in good order; nothing follows. */
  | { readonly kind: "ended"; readonly message: ResponseMessage };

export interface ListenOptions extends RequestOptions {
  /** It has worked in an earlier subscription, so a server that cannot be reached is tried again. */
  readonly hasWorked?: boolean | undefined;
}

const ACKNOWLEDGED = "notifications/subscriptions/acknowledged";

/** Ends after `ended`, and when the signal comes. Throws where the server refuses, or where it never worked. */
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
  /** Of all connections: one that is broken off and opened again brings no new ones. */
  readonly #lines: TokenBucket;
  #answer: HttpAnswer | undefined;
  #hasWorked: boolean;
  #hasBeenOpen = false;
  /** When the subscription of this connection was acknowledged. */
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

  /** One connection. Returns why it broke; undefined where there is no reason to try again. */
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
        // The server refused on a stream, or ended a subscription that had begun with an error.
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

/** The stream was cut, or the server is down for a while: neither is a refusal. */
function isRetryable(fault: Fault): boolean {
  return isTransientFault(fault) || fault.kind === "unanswered";
}

/** The notification for each list that a filter can name. */
export const LIST_CHANGED = {
  toolsListChanged: "notifications/tools/list_changed",
  promptsListChanged: "notifications/prompts/list_changed",
  resourcesListChanged: "notifications/resources/list_changed",
} as const;

const LISTS = Object.keys(LIST_CHANGED) as (keyof typeof LIST_CHANGED)[];

export const RESOURCE_UPDATED = "notifications/resources/updated";

/** What is wanted and not in the filter. */
export function missingFrom(filter: ListenFilter2026, requested: ListenFilter2026): string[] {
  const lists = LISTS.filter((list) => requested[list] === true && filter[list] !== true);
  const uris = new Set(filter.resourceSubscriptions);
  return [...lists, ...(requested.resourceSubscriptions ?? []).filter((uri) => !uris.has(uri))];
}
