// Owns the SSE that a Worker holds: bounded in silence by comments, in bytes that a reader leaves unread, and in age.
// https://html.spec.whatwg.org/multipage/server-sent-events.html

const MAX_UNREAD_BYTES = 4 * 1024 * 1024;
/** Of events that wait for their turn. */
const MAX_WAITING_CHARACTERS = 32 * 1024 * 1024;
/** How long a reader may read nothing at all while something waits for it. */
const MAX_PAUSE_MS = 30_000;
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
  #turn: Promise<void> = Promise.resolve();
  #waiting = 0;
  #wake = () => {};

  constructor(options: EventStreamOptions) {
    this.#options = options;
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => {
          this.#wake();
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
    if ((controller.desiredSize ?? 0) < -(this.#options.unreadBytes ?? MAX_UNREAD_BYTES)) this.#giveUp();
    else controller.enqueue(encoder.encode(text));
  }

  /**
   * Writes when what was written before is read: answers of many calls may be large and come at once, and who reads one
   * after the other is not somebody who does not read. `characters`: about what it will write.
   */
  inTurn(characters: number, write: () => void): Promise<void> {
    if (this.#waiting > MAX_WAITING_CHARACTERS) this.#giveUp();
    this.#waiting += characters;
    this.#turn = this.#turn.then(async () => {
      await this.#read();
      this.#waiting -= characters;
      write();
    });
    return this.#turn;
  }

  /** Resolves when there is room again, or nobody reads any more. */
  async #read(): Promise<void> {
    while (!this.#closed && (this.#controller?.desiredSize ?? 0) <= 0) {
      const timer = setTimeout(() => {
        this.#giveUp();
      }, MAX_PAUSE_MS);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      clearTimeout(timer);
    }
  }

  #giveUp(): void {
    if (this.#closed) return;
    this.#controller?.error(new Error("the reader does not read"));
    this.#gone();
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
    this.#wake();
    clearInterval(this.#keepalive);
    if (this.#age !== undefined) clearTimeout(this.#age);
    return true;
  }

  respond(): Response {
    return new Response(this.body, { status: 200, headers: SSE_HEADERS });
  }
}
