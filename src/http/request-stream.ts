// Owns the stream that one request's answer may become: JSON until something is said before the answer, or two to three seconds
// are over, then events. Knows what it means in each era that the client is gone.

import { addressOf } from "../limits/address.ts";
import type { Era } from "../protocol/era.ts";
import { CallSink, type Mouth } from "./call-sink.ts";
import { EventStream } from "./event-stream.ts";

/** Shorter in era 2026, where a closed connection cancels the call, and is only seen when something is written. */
const KEEPALIVE_MS: Readonly<Record<Era, number>> = { "2025": 20_000, "2026": 5000 };
/** How long a 2025 call goes on after its client left. Production ends the invocation then, local workerd would not. */
const ORPHAN_MS = 30_000;

export class RequestStream implements Mouth {
  readonly #era: Era;
  readonly #request: Request;
  /** The client accepts text/event-stream. */
  readonly isAccepted: boolean;
  #events: EventStream | undefined;
  #isShut = false;
  #onStart: (() => void) | undefined;
  #onGone: (() => void) | undefined;
  #cancel: (() => void) | undefined;
  #sink: CallSink | undefined;

  constructor(request: Request, era: Era, isAccepted: boolean) {
    this.#request = request;
    this.#era = era;
    this.isAccepted = isAccepted;
  }

  /** Sets the sink of the call that ends when its client is gone. */
  serve(sink: CallSink): void {
    this.#sink = sink;
  }

  say(json: string): boolean {
    this.start();
    if (this.#events?.isBehind !== false) return false;
    this.#events.event(json);
    return true;
  }

  end(json: string | null): void {
    if (json !== null) this.#events?.event(json);
    this.#events?.end();
  }

  heed(cancel: () => void): void {
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

  /** Makes the answer a stream, unless it is one, the client accepts none, or the answer went out already. */
  start(): void {
    if (this.#events || !this.isAccepted || this.#isShut) return;
    this.#events = new EventStream({
      keepaliveMs: KEEPALIVE_MS[this.#era],
      ages: this.#era === "2025",
      holder: addressOf(this.#request.headers),
      gone: () => {
        this.#gone();
      },
      aged: () => {
        this.#onGone?.();
      },
    });
    this.#onStart?.();
  }

  /** The answer went out as JSON: what is said after it is dropped. */
  shut(): void {
    this.#isShut = true;
    // The platform keeps what listens to a request for longer than the call lasts, which must not keep all of the call.
    this.#cancel = undefined;
    this.#sink = undefined;
  }

  #gone(): void {
    if (this.#era === "2026") this.#sink?.cancel();
    else {
      this.#onGone?.();
      setTimeout(() => this.#sink?.abandon(), ORPHAN_MS);
    }
  }
}

/** The sink of a call that is answered on this stream. */
export function requestSink(stream: RequestStream, era: Era): CallSink {
  const sink = new CallSink(stream, era);
  stream.serve(sink);
  return sink;
}
