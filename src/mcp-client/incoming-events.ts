// Owns an open stream of events: reading the next one that has data, knowing where the stream stands, closing it.
// Refuses to read ahead: a slow reader slows the server down.

import { oversized, type BodyReader } from "./body-reader.ts";
import type { Clock } from "./clock.ts";
import { EventParser, type ServerSentEvent } from "./server-sent-events.ts";

/** Where a stream stands, which is what another connection needs to continue it. */
export interface StreamPosition {
  readonly lastEventId: string | undefined;
  readonly retryMs: number | undefined;
}

export interface IncomingEventsOptions {
  /** The most that one event may have. */
  readonly maxBytes: number;
  readonly clock: Clock;
  /** Where an earlier connection of this stream broke. */
  readonly lastEventId: string | undefined;
}

export class IncomingEvents {
  readonly #body: BodyReader;
  readonly #parser: EventParser;
  readonly #options: IncomingEventsOptions;
  /** An event has come, even if it only says where the stream stands. */
  hasSpoken = false;
  #waiting: ServerSentEvent[] = [];
  #lastEventId: string | undefined;
  #stopLingering: () => void = () => {};

  constructor(body: BodyReader, options: IncomingEventsOptions) {
    this.#body = body;
    this.#parser = new EventParser(options.maxBytes, options.lastEventId);
    this.#lastEventId = options.lastEventId;
    this.#options = options;
  }

  /** Right after the last event that was read; events that have arrived but were not read do not count. */
  get position(): StreamPosition {
    return { lastEventId: this.#lastEventId, retryMs: this.#parser.retryMs };
  }

  /** The next event with data; undefined when the stream has ended or was closed. */
  async next(): Promise<ServerSentEvent | undefined> {
    for (;;) {
      const event = this.#waiting.shift();
      if (event) {
        this.#lastEventId = event.lastEventId;
        this.hasSpoken = true;
        if (event.data === "") continue;
        return event;
      }
      if (this.#parser.isTooLong) {
        this.close();
        throw oversized({ of: "message", bytes: this.#options.maxBytes });
      }
      const piece = await this.#body.read();
      if (piece === undefined) {
        this.#stopLingering();
        return undefined;
      }
      this.#waiting = this.#parser.push(piece);
    }
  }

  /** Gives the server this long to end the stream itself, because then the connection can serve another request. */
  closeAfter(milliseconds: number): void {
    this.#stopLingering();
    if (milliseconds <= 0) return this.close();
    if (milliseconds !== Infinity) this.#stopLingering = this.#options.clock.after(milliseconds, () => this.close());
  }

  close(): void {
    this.#stopLingering();
    this.#waiting = [];
    this.#body.close();
  }
}
