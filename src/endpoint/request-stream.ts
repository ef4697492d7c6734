// The stream that one request's response may become. The response is JSON until a notification precedes it, or until
// two to three seconds have passed; then it is a stream of events. Handles a disconnected client as each era requires.

import { addressOf } from "../limits/address.ts";
import type { Era } from "../protocol/revisions.ts";
import { CallOutput, type ResponseChannel } from "./call-output.ts";
import { EventStream } from "./event-stream.ts";

/**
 * Shorter in era 2026: there a closed connection cancels the call, and it is only detected when something is written.
 */
const KEEPALIVE_MS: Readonly<Record<Era, number>> = { "2025": 20_000, "2026": 5000 };
/**
 * How long a 2025 call continues after its client disconnected. In production the platform ends the invocation then;
 * local workerd would not.
 */
const ORPHAN_MS = 30_000;

export class RequestStream implements ResponseChannel {
  readonly #era: Era;
  readonly #request: Request;
  /** The client accepts text/event-stream. */
  readonly isAccepted: boolean;
  #events: EventStream | undefined;
  #isAnswered = false;
  #onStart: (() => void) | undefined;
  #onDisconnect: (() => void) | undefined;
  #cancel: (() => void) | undefined;
  #sink: CallOutput | undefined;

  constructor(request: Request, era: Era, isAccepted: boolean) {
    this.#request = request;
    this.#era = era;
    this.isAccepted = isAccepted;
  }

  /** Sets the output of the call that ends when its client disconnects. */
  setOutput(sink: CallOutput): void {
    this.#sink = sink;
  }

  write(json: string): boolean {
    this.start();
    if (this.#events?.isBehind !== false) return false;
    this.#events.writeEvent(json);
    return true;
  }

  end(json: string | null): void {
    if (json !== null) this.#events?.writeEvent(json);
    this.#events?.end();
  }

  onCancelRequested(cancel: () => void): void {
    if (this.#era !== "2026" || this.#events) return;
    const { signal } = this.#request;
    if (signal.aborted) return cancel();
    this.#cancel = cancel;
    signal.addEventListener("abort", () => this.#cancel?.());
  }

  get events(): EventStream | undefined {
    return this.#events;
  }

  /** `listener` is called when nobody reads the stream any more, for whatever reason. */
  whenDisconnected(listener: () => void): void {
    this.#onDisconnect = listener;
  }

  /** Resolves when the response has become a stream. */
  whenStarted(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#events) resolve();
      else this.#onStart = resolve;
    });
  }

  /** Makes the response a stream, unless it is one, the client accepts none, or the response was sent already. */
  start(): void {
    if (this.#events || !this.isAccepted || this.#isAnswered) return;
    this.#events = new EventStream({
      keepaliveMs: KEEPALIVE_MS[this.#era],
      hasMaxAge: this.#era === "2025",
      clientAddress: addressOf(this.#request.headers),
      onDisconnect: () => {
        this.#disconnected();
      },
      onMaxAge: () => {
        this.#onDisconnect?.();
      },
    });
    this.#onStart?.();
  }

  /** The response was sent as JSON: later notifications are dropped. */
  close(): void {
    this.#isAnswered = true;
    // The platform keeps a request's abort listeners for longer than the call lasts; they must not keep the whole call
    // in memory.
    this.#cancel = undefined;
    this.#sink = undefined;
  }

  #disconnected(): void {
    if (this.#era === "2026") this.#sink?.cancel();
    else {
      this.#onDisconnect?.();
      setTimeout(() => this.#sink?.abandon(), ORPHAN_MS);
    }
  }
}

export function createRequestOutput(stream: RequestStream, era: Era): CallOutput {
  const sink = new CallOutput(stream, era);
  stream.setOutput(sink);
  return sink;
}
