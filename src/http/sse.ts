// Owns the stream that one request's answer may become: JSON until the first notification or two seconds, then SSE.
// Bounded in silence (comments), in bytes a reader may leave unread, and in age by the time limit of the call.
// https://html.spec.whatwg.org/multipage/server-sent-events.html

import type { EventSink } from "../protocol/backend.ts";
import type { Era } from "../protocol/era.ts";
import { notification, type JsonObject } from "../protocol/jsonrpc.ts";

/** In era 2026 a closed connection cancels, and it is only seen when something is written. */
const KEEPALIVE_MS: Readonly<Record<Era, number>> = { "2025": 20_000, "2026": 5000 };
const MAX_UNREAD_BYTES = 4 * 1024 * 1024;
/** How long a 2025 call goes on for nobody; production ends the invocation then, local workerd would not. */
const ORPHAN_MS = 30_000;

const encoder = new TextEncoder();

/** JSON has no line breaks, so it is one line of data. */
export function encodeEvent(json: string): string {
  return `event: message\ndata: ${json}\n\n`;
}

export class RequestSink implements EventSink {
  readonly #era: Era;
  readonly #streams: boolean;
  readonly #request: Request;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #stream: ReadableStream<Uint8Array> | undefined;
  #onStart: (() => void) | undefined;
  #cancel: AbortController | undefined;
  #keepalive: ReturnType<typeof setInterval> | undefined;
  #closed = false;

  /** `streams`: the client accepts text/event-stream. */
  constructor(request: Request, era: Era, streams: boolean) {
    this.#request = request;
    this.#era = era;
    this.#streams = streams;
  }

  notify(method: string, params: JsonObject): void {
    if (!this.#streams || this.#closed) return;
    this.start();
    this.#write(notification(method, params));
  }

  /** In era 2026 closing the connection cancels the request; in era 2025 it does not. */
  get cancelled(): AbortSignal {
    if (!this.#cancel) {
      this.#cancel = new AbortController();
      if (this.#era === "2026" && !this.#stream) {
        this.#request.signal.addEventListener("abort", () => this.#cancel?.abort());
      }
    }
    return this.#cancel.signal;
  }

  get stream(): ReadableStream<Uint8Array> | undefined {
    return this.#stream;
  }

  get canStream(): boolean {
    return this.#streams;
  }

  /** Resolves when the answer has become a stream. */
  whenStarted(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#stream) resolve();
      else this.#onStart = resolve;
    });
  }

  start(): void {
    if (this.#stream || !this.#streams || this.#closed) return;
    this.#stream = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        cancel: () => {
          this.#disconnected();
        },
      },
      new ByteLengthQueuingStrategy({ highWaterMark: 65_536 }),
    );
    // A first byte at once: headers are held back until there is one.
    this.#enqueue(": open\n\n");
    this.#keepalive = setInterval(() => {
      this.#enqueue(": keepalive\n\n");
    }, KEEPALIVE_MS[this.#era]);
    this.#onStart?.();
  }

  /** The answer went out as JSON: what is said after it goes nowhere. */
  shut(): void {
    this.#closed = true;
  }

  /** The answer, as the stream's last event. */
  finish(json: string): void {
    this.#write(json);
    this.#close();
  }

  #write(json: string): void {
    this.#enqueue(encodeEvent(json));
  }

  #enqueue(text: string): void {
    const controller = this.#controller;
    if (!controller || this.#closed) return;
    if ((controller.desiredSize ?? 0) < -MAX_UNREAD_BYTES) {
      controller.error(new Error("the reader does not read"));
      this.#disconnected();
      return;
    }
    controller.enqueue(encoder.encode(text));
  }

  #close(): void {
    if (this.#closed) return;
    this.#closed = true;
    clearInterval(this.#keepalive ?? null);
    this.#controller?.close();
  }

  #disconnected(): void {
    if (this.#closed) return;
    this.#closed = true;
    clearInterval(this.#keepalive ?? null);
    if (this.#era === "2026") this.#cancel?.abort();
    else setTimeout(() => this.#cancel?.abort(), ORPHAN_MS);
  }
}

/** For messages of a batch: their notifications have no stream to go to. */
export const NO_SINK: EventSink = {
  notify: () => {},
  cancelled: { aborted: false, addEventListener: () => {} },
};
