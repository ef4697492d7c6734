// Owns the stream that one request's answer may become: JSON until something is said before the answer, or two to three seconds
// are over, then events. Knows what it means in each era that the client is gone.

import { addressOf } from "../limits/address.ts";
import type { Era } from "../protocol/revisions.ts";
import { CallOutput, type ResponseChannel } from "./call-output.ts";
import { EventStream } from "./event-stream.ts";

/** Shorter in era 2026, where a closed connection cancels the call, and is only seen when something is written. */
const KEEPALIVE_MS: Readonly<Record<Era, number>> = { "2025": 20_000, "2026": 5000 };
/** How long a 2025 call goes on after its client left. Production ends the invocation then, local workerd would not. */
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

  /** Sets the sink of the call that ends when its client is gone. */
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

  /** Resolves when the answer has become a stream. */
  whenStarted(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#events) resolve();
      else this.#onStart = resolve;
    });
  }

  /** Makes the answer a stream, unless it is one, the client accepts none, or the answer went out already. */
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

  /** The answer went out as JSON: what is said after it is dropped. */
  close(): void {
    this.#isAnswered = true;
    // The platform keeps what listens to a request for longer than the call lasts, which must not keep all of the call.
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

/** The sink of a call that is answered on this stream. */
export function createRequestOutput(stream: RequestStream, era: Era): CallOutput {
  const sink = new CallOutput(stream, era);
  stream.setOutput(sink);
  return sink;
}
