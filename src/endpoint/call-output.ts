// Owns where a running call's notifications and answer go: to its client, and from the moment a session's object stores
// the call, into its log. Whether it is cancelled is known here. Refuses to know how its client is reached: a mouth
// does.

import type { EventSink } from "../protocol/mcp-request.ts";
import type { Era } from "../protocol/revisions.ts";
import { notification, type JsonObject } from "../protocol/jsonrpc.ts";

/** How one call speaks to its client. */
export interface ResponseChannel {
  /** false: nobody hears it. */
  write(json: string): boolean;
  /** The call is over; null: it gets no answer. */
  end(json: string | null): void | Promise<void>;
  /** The handler asked to hear of its cancellation. `cancel`: to be called when the client leaves, if that cancels. */
  onCancelRequested?(cancel: () => void): void;
}

/** The log of a stored call. */
export interface EventLog {
  append(json: string): void;
  finish(json: string | null): Promise<void>;
  /** Nothing more comes from here, and the call is not over: another run goes on with it. */
  abandon(): void;
}

export class CallOutput implements EventSink {
  readonly #channel: ResponseChannel;
  readonly #era: Era;
  #eventLog: EventLog | undefined;
  #cancel: AbortController | undefined;
  #isCancelled = false;
  #isOver = false;
  /** Notifications that went to the client directly. */
  notificationCount = 0;

  constructor(channel: ResponseChannel, era: Era) {
    this.#channel = channel;
    this.#era = era;
  }

  notify(method: string, params: JsonObject): void {
    const json = notification(method, params);
    if (this.#eventLog) this.#eventLog.append(json);
    else if (!this.#isOver && this.#channel.write(json)) this.notificationCount += 1;
  }

  /** Made on first use, because most handlers never ask. */
  get cancelled(): AbortSignal {
    if (!this.#cancel) {
      this.#cancel = new AbortController();
      if (this.#isCancelled) this.#cancel.abort();
      this.#channel.onCancelRequested?.(() => {
        this.cancel();
      });
    }
    return this.#cancel.signal;
  }

  cancel(): void {
    this.#isCancelled = true;
    this.#cancel?.abort();
  }

  /** From now on everything goes into a log. */
  divert(eventLog: EventLog): void {
    this.#eventLog = eventLog;
  }

  /** This invocation does not go on with the call: what is stored is left to another run, the rest ends. */
  abandon(): void {
    this.#eventLog?.abandon();
    this.cancel();
  }

  /** A cancelled request of era 2025 gets no answer. In era 2026 a closed connection cancels, so nobody reads one. */
  async finish(json: string): Promise<void> {
    this.#isOver = true;
    const response = this.#isCancelled && this.#era === "2025" ? null : json;
    if (this.#eventLog) await this.#eventLog.finish(response);
    else await this.#channel.end(response);
  }
}

/** For runs that have no client. */
export const NULL_CHANNEL: ResponseChannel = { write: () => false, end: () => {} };

/** Nothing is said, and nobody cancels. */
export const NULL_SINK: EventSink = {
  notify: () => {},
  get cancelled() {
    return new AbortController().signal;
  },
};
