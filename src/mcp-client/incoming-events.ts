// Reads an open event stream: the next event with data, the stream's position, and closing. Never reads ahead, so that
// a slow reader slows down the server. Yields to other work after each small part, however much has arrived at once.

import { checkContainers, tooLargeFault, type BodyReader } from "./body-reader.ts";
import type { TokenBucket } from "./token-bucket.ts";
import { pause, type Clock } from "./clock.ts";
import { McpFault } from "./fault.ts";
import { parseServerMessages, type Message } from "./message.ts";
import { EventParser, type ServerSentEvent } from "./server-sent-events.ts";

/** Position in a stream, as another connection needs it to resume. */
export interface StreamPosition {
  readonly lastEventId: string | undefined;
  readonly retryMs: number | undefined;
}

export interface IncomingEventsOptions {
  readonly maxBytes: number;
  /** How many lines may still come. */
  readonly lines: TokenBucket;
  readonly clock: Clock;
  /** Where an earlier connection of this stream broke. */
  readonly lastEventId: string | undefined;
  /** Receives the memory in bytes of an incomplete event. Throwing ends the stream. */
  readonly reserveBytes?: ((bytes: number) => void) | undefined;
  /** Receives the reason why an event was not a message. */
  readonly onSkipped?: ((why: string) => void) | undefined;
}

/** Bytes parsed before their events are delivered. A chunk from the platform may have megabytes. */
const CHUNK_BYTES = 16_384;
/** Yields after this many lines: reading data that has already arrived never waits by itself. */
const YIELD_LINES = 4096;
/** Reading this many characters of a message costs about as much as finding one line. */
const CHARACTERS_PER_LINE = 64;
const EMPTY = new Uint8Array(0);

export class IncomingEvents {
  readonly #body: BodyReader;
  readonly #parser: EventParser;
  readonly #options: IncomingEventsOptions;
  /** An event has come, even one that only sets the position. */
  hasEvents = false;
  /** Received but not yet parsed. */
  #unparsed: Uint8Array = EMPTY;
  #events: readonly ServerSentEvent[] = [];
  #nextIndex = 0;
  /** Work since the last yield, in lines. */
  #work = 0;
  #fault: McpFault | undefined;
  #lastEventId: string | undefined;
  #stopLingering: () => void = () => {};

  constructor(body: BodyReader, options: IncomingEventsOptions) {
    this.#body = body;
    this.#parser = new EventParser(options.maxBytes, options.lastEventId);
    this.#lastEventId = options.lastEventId;
    this.#options = options;
  }

  /** The position right after the last event that was read. Events that arrived but were not read do not count. */
  get position(): StreamPosition {
    return { lastEventId: this.#lastEventId, retryMs: this.#parser.retryMs };
  }

  /** The next event with data. Returns undefined if the stream has ended or was closed. */
  async next(): Promise<ServerSentEvent | undefined> {
    do {
      for (let event = this.#events[this.#nextIndex]; event; event = this.#events[this.#nextIndex]) {
        this.#nextIndex += 1;
        this.#lastEventId = event.lastEventId;
        this.hasEvents = true;
        if (event.data === "") continue;
        this.#work += event.data.length / CHARACTERS_PER_LINE;
        return event;
      }
      if (this.#fault) {
        this.close();
        throw this.#fault;
      }
    } while (await this.#parseNext());
    this.#stopLingering();
    return undefined;
  }

  /**
   * The messages of the next event that has any, or undefined at the end. An event that is not a message is skipped,
   * because servers and proxies send heartbeats as events. Skipped events count against the stream's limits.
   */
  async nextMessages(): Promise<readonly Message[] | undefined> {
    for (let event = await this.next(); event; event = await this.next()) {
      if (event.name !== "" && event.name !== "message") continue;
      checkContainers(event.data);
      const messages = parseServerMessages(event.data);
      if (!("kind" in messages)) return messages;
      this.#options.onSkipped?.(messages.why);
    }
    return undefined;
  }

  /** Parses the next part when data has arrived. Returns false at the end. */
  async #parseNext(): Promise<boolean> {
    if (this.#unparsed.length === 0) {
      const piece = await this.#body.read();
      if (piece === undefined) return false;
      this.#unparsed = piece;
      this.#work += 1;
    }
    await this.#yieldTurn();
    const part = this.#unparsed.subarray(0, CHUNK_BYTES);
    this.#unparsed = this.#unparsed.subarray(part.length);
    const before = this.#parser.lines;
    this.#events = this.#parser.push(part);
    this.#nextIndex = 0;
    this.#countLines(this.#parser.lines - before);
    try {
      this.#options.reserveBytes?.(this.#parser.memoryBytes);
    } catch (error) {
      this.close();
      throw error;
    }
    return true;
  }

  #countLines(lines: number): void {
    this.#work += lines;
    const { maxBytes, lines: left } = this.#options;
    if (this.#parser.isTooLong) this.#fault = tooLargeFault({ of: "message", bytes: maxBytes });
    else if (!left.take(lines)) {
      this.#fault = new McpFault({ kind: "tooLarge", what: "stream", limitLines: left.capacity, sent: "yes" });
    }
  }

  async #yieldTurn(): Promise<void> {
    if (this.#work < YIELD_LINES) return;
    this.#work = 0;
    // If the time limit passed or the stream was closed meanwhile, the next read of the body reports it.
    if (!(await pause(this.#options.clock, 0, this.#body.signal))) this.#unparsed = EMPTY;
  }

  /** Gives the server this long to end the stream itself, because the connection can then be reused. */
  closeAfter(milliseconds: number): void {
    this.#stopLingering();
    if (milliseconds <= 0) return this.close();
    if (milliseconds !== Infinity) this.#stopLingering = this.#options.clock.schedule(milliseconds, () => this.close());
  }

  close(): void {
    this.#stopLingering();
    this.#unparsed = EMPTY;
    this.#events = [];
    this.#body.close();
  }
}
