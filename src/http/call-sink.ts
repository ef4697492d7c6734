// Owns where one request's notifications and answer go: JSON until the first notification or two seconds, then a stream;
// and for a call that a session's object stores, into its log.

import type { EventSink } from "../protocol/backend.ts";
import type { Era } from "../protocol/era.ts";
import { notification, type JsonObject } from "../protocol/jsonrpc.ts";
import { EventStream } from "./event-stream.ts";

/** In era 2026 a closed connection cancels, and it is only seen when something is written. */
const KEEPALIVE_MS: Readonly<Record<Era, number>> = { "2025": 20_000, "2026": 5000 };
/** How long a 2025 call goes on for nobody; production ends the invocation then, local workerd would not. */
const ORPHAN_MS = 30_000;

/** The log of a stored call. */
export interface Outlet {
  append(json: string): void;
  finish(json: string | null): Promise<void>;
  /** Nothing more comes from here, and the call is not over. */
  abandon(): void;
}

export class RequestSink implements EventSink {
  readonly #era: Era;
  readonly #streams: boolean;
  readonly #request: Request | undefined;
  #events: EventStream | undefined;
  #outlet: Outlet | undefined;
  #onStart: (() => void) | undefined;
  #onGone: (() => void) | undefined;
  #cancel: AbortController | undefined;
  #cancelled = false;
  #closed = false;
  /** Notifications that went to the client directly. */
  said = 0;

  /** `streams`: the client accepts text/event-stream. */
  constructor(request: Request | undefined, era: Era, streams: boolean) {
    this.#request = request;
    this.#era = era;
    this.#streams = streams;
  }

  notify(method: string, params: JsonObject): void {
    const json = notification(method, params);
    if (this.#outlet) {
      this.#outlet.append(json);
      return;
    }
    if (!this.#streams || this.#closed) return;
    this.start();
    this.said += 1;
    this.#events?.event(json);
  }

  /** In era 2026 closing the connection cancels the request; in era 2025 it does not. */
  get cancelled(): AbortSignal {
    if (!this.#cancel) {
      this.#cancel = new AbortController();
      if (this.#cancelled) this.#cancel.abort();
      if (this.#era === "2026" && !this.#events) {
        this.#request?.signal.addEventListener("abort", () => {
          this.cancel();
        });
      }
    }
    return this.#cancel.signal;
  }

  cancel(): void {
    this.#cancelled = true;
    this.#cancel?.abort();
  }

  get stream(): EventStream | undefined {
    return this.#events;
  }

  get canStream(): boolean {
    return this.#streams;
  }

  /** From now on everything goes into a log, which feeds the stream. */
  divert(outlet: Outlet): void {
    this.#outlet = outlet;
  }

  whenGone(listener: () => void): void {
    this.#onGone = listener;
  }

  /** Resolves when the answer has become a stream. */
  whenStarted(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#events) resolve();
      else this.#onStart = resolve;
    });
  }

  start(): void {
    if (this.#events || !this.#streams || this.#closed) return;
    this.#events = new EventStream({
      keepaliveMs: KEEPALIVE_MS[this.#era],
      ages: this.#era === "2025",
      gone: () => {
        this.#gone();
      },
      aged: () => {
        this.#onGone?.();
      },
    });
    this.#onStart?.();
  }

  /** The answer went out as JSON: what is said after it goes nowhere. */
  shut(): void {
    this.#closed = true;
  }

  /** The answer, as the stream's last event; a cancelled 2025 request gets none. */
  async finish(json: string): Promise<void> {
    this.#closed = true;
    if (this.#outlet) {
      await this.#outlet.finish(this.#cancelled ? null : json);
      return;
    }
    if (!(this.#cancelled && this.#era === "2025")) this.#events?.event(json);
    this.#events?.end();
  }

  #gone(): void {
    if (this.#era === "2026") this.cancel();
    else {
      this.#onGone?.();
      setTimeout(() => {
        this.#outlet?.abandon();
        this.cancel();
      }, ORPHAN_MS);
    }
  }
}

/** For messages of a batch: their notifications have no stream to go to. */
export const NO_SINK: EventSink = {
  notify: () => {},
  cancelled: { aborted: false, addEventListener: () => {} },
};
