// Owns a `subscriptions/listen` that outlives its connection: it is sent again until the server ends or refuses it, or
// nobody reads any more. Refuses to try again where it never worked, and to hide that something may have been missed.
// https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions

import { isObject } from "../protocol/jsonrpc.ts";
import { allowanceFor } from "./allowance.ts";
import { Backoff } from "./backoff.ts";
import type { Budget } from "./budget.ts";
import type { RemoteEndpoint, RequestOptions } from "./remote-endpoint.ts";
import { exchange } from "./exchange.ts";
import { isPassing, McpFault, retryAfterMs, type Fault } from "./fault.ts";
import { refusalIn, type HttpAnswer } from "./http-answer.ts";
import { STANDING_LIMITS, type AnswerLimits } from "./answer-limits.ts";
import { paramsOf, type NotificationMessage, type ResponseMessage } from "./message.ts";
import type { Outgoing } from "./outgoing.ts";
import { answersIn, Answers, owned, violation } from "./mcp-reply.ts";
import { reconnecting, type Dropped } from "./reconnecting.ts";
import { Stop } from "./stop.ts";

/** What a client wants to be told, or what a server agreed to tell. */
export interface SubscriptionFilter {
  readonly toolsListChanged?: boolean;
  readonly promptsListChanged?: boolean;
  readonly resourcesListChanged?: boolean;
  readonly resourceSubscriptions?: readonly string[];
}

export type ListenEvent =
  /** The server has acknowledged the subscription. If it is not the first time, what happened in between was missed. */
  | {
      readonly kind: "listening";
      readonly isAgain: boolean;
      readonly filter: SubscriptionFilter;
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
  request: Outgoing,
  options: ListenOptions = {},
): AsyncIterableIterator<ListenEvent, void, void> {
  const listener = new Listener(endpoint, request, options);
  return owned(listener.events(), () => listener.close());
}

class Listener {
  readonly #endpoint: RemoteEndpoint;
  readonly #request: Outgoing;
  readonly #stop: Stop;
  readonly #backoff: Backoff;
  readonly #limits: AnswerLimits;
  /** Of all connections: one that is broken off and opened again brings no new ones. */
  readonly #lines: Budget;
  #current: HttpAnswer | undefined;
  #hasWorked: boolean;
  #hasBeenOpen = false;
  /** When the subscription of this connection was acknowledged. */
  #openedAt: number | undefined;

  constructor(endpoint: RemoteEndpoint, request: Outgoing, options: ListenOptions) {
    this.#endpoint = endpoint;
    this.#request = request;
    this.#stop = new Stop(options.signal);
    this.#backoff = new Backoff(endpoint.clock);
    this.#limits = { ...STANDING_LIMITS, ...options.limits };
    this.#lines = allowanceFor(this.#limits, endpoint.clock).lines;
    this.#hasWorked = options.hasWorked === true;
  }

  events(): AsyncGenerator<ListenEvent, void, void> {
    return reconnecting<ListenEvent>({
      clock: this.#endpoint.clock,
      stop: this.#stop,
      once: () => this.#once(),
      nextMs: (fault) => this.#nextMs(fault),
    });
  }

  close(): void {
    this.#stop.end();
  }

  /** One connection. Returns why it broke; undefined where there is no reason to try again. */
  async *#once(): AsyncGenerator<ListenEvent, Fault | undefined, void> {
    try {
      const { headers, text } = this.#request;
      const posted = { method: "POST", headers, body: text } as const;
      const options = { signal: this.#stop.signal, limits: this.#limits, allowance: { lines: this.#lines } };
      this.#current = await exchange(this.#endpoint, posted, options);
      const refusal = refusalIn(this.#current);
      if (refusal) throw refusal;
      yield* this.#read(this.#current);
      return undefined;
    } catch (error) {
      if (!(error instanceof McpFault)) throw error;
      if (this.#stop.signal.aborted) return undefined;
      if (!this.#hasWorked || !isWorthAnother(error.fault)) throw error;
      if (this.#openedAt !== undefined) this.#backoff.ended(this.#endpoint.clock.now() - this.#openedAt, true);
      this.#openedAt = undefined;
      return error.fault;
    }
  }

  async *#read(current: HttpAnswer): AsyncGenerator<ListenEvent, void, void> {
    let isFirst = true;
    for await (const message of answersIn(current, new Answers(this.#request.id))) {
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
    const isAgain = this.#hasBeenOpen;
    this.#hasBeenOpen = true;
    this.#hasWorked = true;
    this.#openedAt = this.#endpoint.clock.now();
    return { kind: "listening", isAgain, filter: isObject(notifications) ? notifications : {}, message };
  }

  #nextMs(fault: Fault): number {
    const asked = retryAfterMs(fault, this.#endpoint.clock.now());
    const retry = this.#current?.kind === "stream" ? this.#current.events.position.retryMs : undefined;
    const known = [asked, retry].filter((ms) => ms !== undefined);
    return this.#backoff.nextMs(known.length === 0 ? undefined : Math.max(...known));
  }
}

/** The stream was cut, or the server is down for a while: neither is a refusal. */
function isWorthAnother(fault: Fault): boolean {
  return isPassing(fault) || fault.kind === "unanswered";
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
export function missingFrom(filter: SubscriptionFilter, wanted: SubscriptionFilter): string[] {
  const lists = LISTS.filter((list) => wanted[list] === true && filter[list] !== true);
  const uris = new Set(filter.resourceSubscriptions);
  return [...lists, ...(wanted.resourceSubscriptions ?? []).filter((uri) => !uris.has(uri))];
}
