// Owns where a running call's notifications and answer go: to its client, and from the moment a session's object stores
// the call, into its log. Whether it is cancelled is known here. Refuses to know how its client is reached: a mouth
// does.

import type { EventSink } from "../protocol/call.ts";
import type { Era } from "../protocol/era.ts";
import { notification, type JsonObject } from "../protocol/jsonrpc.ts";

/** How one call speaks to its client. */
export interface Mouth {
  /** false: nobody hears it. */
  say(json: string): boolean;
  /** The call is over; null: it gets no answer. */
  end(json: string | null): void | Promise<void>;
  /** The handler asked to hear of its cancellation. `cancel`: to be called when the client leaves, if that cancels. */
  heed?(cancel: () => void): void;
}

/** The log of a stored call. */
export interface Outlet {
  append(json: string): void;
  finish(json: string | null): Promise<void>;
  /** Nothing more comes from here, and the call is not over: another run goes on with it. */
  abandon(): void;
}

export class CallSink implements EventSink {
  readonly #mouth: Mouth;
  readonly #era: Era;
  #outlet: Outlet | undefined;
  #cancel: AbortController | undefined;
  #isCancelled = false;
  #isOver = false;
  /** Notifications that went to the client directly. */
  said = 0;

  constructor(mouth: Mouth, era: Era) {
    this.#mouth = mouth;
    this.#era = era;
  }

  notify(method: string, params: JsonObject): void {
    const json = notification(method, params);
    if (this.#outlet) this.#outlet.append(json);
    else if (!this.#isOver && this.#mouth.say(json)) this.said += 1;
  }

  /** Made on first use, because most handlers never ask. */
  get cancelled(): AbortSignal {
    if (!this.#cancel) {
      this.#cancel = new AbortController();
      if (this.#isCancelled) this.#cancel.abort();
      this.#mouth.heed?.(() => {
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
  divert(outlet: Outlet): void {
    this.#outlet = outlet;
  }

  /** This invocation does not go on with the call: what is stored is left to another run, the rest ends. */
  abandon(): void {
    this.#outlet?.abandon();
    this.cancel();
  }

  /** A cancelled request of era 2025 gets no answer. In era 2026 a closed connection cancels, so nobody reads one. */
  async finish(json: string): Promise<void> {
    this.#isOver = true;
    const told = this.#isCancelled && this.#era === "2025" ? null : json;
    if (this.#outlet) await this.#outlet.finish(told);
    else await this.#mouth.end(told);
  }
}

/** For runs that have no client. */
export const SILENT: Mouth = { say: () => false, end: () => {} };

/** Nothing is said, and nobody cancels. */
export const NO_SINK: EventSink = {
  notify: () => {},
  get cancelled() {
    return new AbortController().signal;
  },
};
