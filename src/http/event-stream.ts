// Owns the SSE that a Worker holds: bounded in silence by comments, in bytes that a reader leaves unread, and in age.
// https://html.spec.whatwg.org/multipage/server-sent-events.html

const MAX_UNREAD_BYTES = 4 * 1024 * 1024;
const MAX_AGE_MS = 30 * 60_000;
/** So that streams that began together do not end together. */
const JITTER = 0.1;

export const SSE_HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

const encoder = new TextEncoder();

/** JSON has no line breaks, so it is one line of data. */
export function encodeEvent(json: string, id?: string): string {
  return `${id === undefined ? "" : `id: ${id}\n`}event: message\ndata: ${json}\n\n`;
}

export interface EventStreamOptions {
  readonly keepaliveMs: number;
  /** Whether its age is bounded; what is bounded by a call's time limit needs no other. */
  readonly ages: boolean;
  /** How much a reader may leave unread; 4 MiB when unset. */
  readonly unreadBytes?: number;
  /** The reader is gone, or does not read. */
  gone(): void;
  /** It is old: whoever feeds it ends it. */
  aged?(): void;
}

export class EventStream {
  readonly body: ReadableStream<Uint8Array>;
  readonly #options: EventStreamOptions;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  readonly #keepalive: ReturnType<typeof setInterval>;
  readonly #age: ReturnType<typeof setTimeout> | undefined;
  #closed = false;

  constructor(options: EventStreamOptions) {
    this.#options = options;
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        cancel: () => {
          this.#gone();
        },
      },
      new ByteLengthQueuingStrategy({ highWaterMark: 65_536 }),
    );
    // A first byte at once: headers are held back until there is one.
    this.write(": open\n\n");
    this.#keepalive = setInterval(() => {
      this.write(": keepalive\n\n");
    }, options.keepaliveMs);
    if (!options.ages) return;
    this.#age = setTimeout(
      () => {
        options.aged?.();
        this.end();
      },
      MAX_AGE_MS * (1 + JITTER * (2 * Math.random() - 1)),
    );
  }

  get closed(): boolean {
    return this.#closed;
  }

  event(json: string, id?: string): void {
    this.write(encodeEvent(json, id));
  }

  /** Its id alone, so that the client can come back before anything was said; and when it shall. */
  prime(id: string, retryMs: number): void {
    this.write(`retry: ${retryMs}\nid: ${id}\ndata:\n\n`);
  }

  write(text: string): void {
    const controller = this.#controller;
    if (!controller || this.#closed) return;
    if ((controller.desiredSize ?? 0) < -(this.#options.unreadBytes ?? MAX_UNREAD_BYTES)) {
      controller.error(new Error("the reader does not read"));
      this.#gone();
      return;
    }
    controller.enqueue(encoder.encode(text));
  }

  end(): void {
    if (!this.#stop()) return;
    this.#controller?.close();
  }

  #gone(): void {
    if (this.#stop()) this.#options.gone();
  }

  #stop(): boolean {
    if (this.#closed) return false;
    this.#closed = true;
    clearInterval(this.#keepalive);
    if (this.#age !== undefined) clearTimeout(this.#age);
    return true;
  }

  respond(): Response {
    return new Response(this.body, { status: 200, headers: SSE_HEADERS });
  }
}
