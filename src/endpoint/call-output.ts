// The output of a running call: its notifications and response go to the client, or into the log once the session
// object stores the call. Also tracks whether the call is cancelled.

import type { EventSink } from "../protocol/mcp-request.ts";
import type { Era } from "../protocol/revisions.ts";
import { notification, type JsonObject } from "../protocol/jsonrpc.ts";

/** How one call reaches its client. */
export interface ResponseChannel {
  /** Returns false if nobody receives it. */
  write(json: string): boolean;
  /** Ends the call; null: without a response. */
  end(json: string | null): void | Promise<void>;
  /**
   * Called when the handler first asks for its cancellation signal. `cancel`: to be called when the client disconnects,
   * if that cancels.
   */
  onCancelRequested?(cancel: () => void): void;
}

export interface EventLog {
  append(json: string): void;
  finish(json: string | null): Promise<void>;
  /** Stops writing without ending the call: another run continues it. */
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

  /** Created on first use, because most handlers never read it. */
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

  /** Writes everything from now on into a log. */
  divert(eventLog: EventLog): void {
    this.#eventLog = eventLog;
  }

  /** Stops the call in this invocation: a stored call is left to another run, any other call ends. */
  abandon(): void {
    this.#eventLog?.abandon();
    this.cancel();
  }

  /**
   * A cancelled request of era 2025 gets no response. In era 2026 a closed connection cancels, so nobody would read a
   * response.
   */
  async finish(json: string): Promise<void> {
    this.#isOver = true;
    const response = this.#isCancelled && this.#era === "2025" ? null : json;
    if (this.#eventLog) await this.#eventLog.finish(response);
    else await this.#channel.end(response);
  }
}

/** For runs that have no client. */
export const NULL_CHANNEL: ResponseChannel = { write: () => false, end: () => {} };

/** Discards notifications, and is never cancelled. */
export const NULL_SINK: EventSink = {
  notify: () => {},
  get cancelled() {
    return new AbortController().signal;
  },
};
