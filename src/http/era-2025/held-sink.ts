// Owns where a call's notifications and answer go when its client holds one stream for all calls (HTTP+SSE): that
// stream, or the log of a call that is stored.

import type { EventSink } from "../../protocol/backend.ts";
import { notification, type JsonObject } from "../../protocol/jsonrpc.ts";
import type { EventStream } from "../event-stream.ts";
import type { Outlet } from "../call-sink.ts";

export class HeldSink implements EventSink {
  readonly #events: EventStream;
  readonly #cancel = new AbortController();
  #outlet: Outlet | undefined;
  #closed = false;
  /** Notifications that went to the client directly. */
  said = 0;

  constructor(events: EventStream) {
    this.#events = events;
  }

  get cancelled(): AbortSignal {
    return this.#cancel.signal;
  }

  cancel(): void {
    this.#cancel.abort();
  }

  /** From now on everything goes into a log. */
  divert(outlet: Outlet): void {
    this.#outlet = outlet;
  }

  notify(method: string, params: JsonObject): void {
    const json = notification(method, params);
    if (this.#outlet) {
      this.#outlet.append(json);
      return;
    }
    if (this.#closed) return;
    this.said += 1;
    this.#events.event(json);
  }

  /** A cancelled request gets no answer. */
  async finish(json: string): Promise<void> {
    this.#closed = true;
    const told = this.#cancel.signal.aborted ? null : json;
    if (this.#outlet) await this.#outlet.finish(told);
    else if (told !== null) {
      await this.#events.inTurn(told.length, () => {
        this.#events.event(told);
      });
    }
  }
}
