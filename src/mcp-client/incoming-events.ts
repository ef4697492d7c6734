// Owns an open stream of events: reading the next one that has data, knowing where the stream stands, closing it.
// Refuses to read ahead, so that a slow reader slows the server down, and to keep others from their turn: however much
// has arrived at once, whoever else runs here is let in after each small part of it.

import { checkContainers, tooLargeFault, type BodyReader } from "./body-reader.ts";
import type { TokenBucket } from "./token-bucket.ts";
import { pause, type Clock } from "./clock.ts";
import { McpFault } from "./fault.ts";
import { parseServerMessages, type Message } from "./message.ts";
import { EventParser, type ServerSentEvent } from "./server-sent-events.ts";

/** Where a stream stands, which is what another connection needs to continue it. */
export interface StreamPosition {
  readonly lastEventId: string | undefined;
  readonly retryMs: number | undefined;
}

export interface IncomingEventsOptions {
  /** The most that one event may have. */
  readonly maxBytes: number;
  /** How many lines may still come. */
  readonly lines: TokenBucket;
  readonly clock: Clock;
  /** Where an earlier connection of this stream broke. */
  readonly lastEventId: string | undefined;
  /** Is told how many bytes of memory an event takes that has not ended; what it throws ends the stream. */
  readonly reserveBytes?: ((bytes: number) => void) | undefined;
  /** Is told why an event was no message. */
  readonly onSkipped?: ((why: string) => void) | undefined;
}

/** How much is parsed before its events are handed over. A piece from the platform may have megabytes. */
const CHUNK_BYTES = 16_384;
/** After so many lines others get a turn. They cannot before, because reading what has arrived does not wait. */
const YIELD_LINES = 4096;
/** To read a message of so many characters costs about as much as to find a line. */
const CHARACTERS_PER_LINE = 64;
const EMPTY = new Uint8Array(0);

export class IncomingEvents {
  readonly #body: BodyReader;
  readonly #parser: EventParser;
  readonly #options: IncomingEventsOptions;
  /** An event has come, even if it only says where the stream stands. */
  hasEvents = false;
  /** What has arrived and is not parsed yet. */
  #unparsed: Uint8Array = EMPTY;
  #events: readonly ServerSentEvent[] = [];
  /** How many of them have been handed over. */
  #nextIndex = 0;
  /** The work since the last turn of others, in lines. */
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

  /** Right after the last event that was read; events that have arrived but were not read do not count. */
  get position(): StreamPosition {
    return { lastEventId: this.#lastEventId, retryMs: this.#parser.retryMs };
  }

  /** The next event with data; undefined when the stream has ended or was closed. */
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
   * The messages of the next event that has any; undefined at the end. An event that is no message is skipped: servers and
   * proxies send heartbeats as events. It counts against the limits of the stream like any other.
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

  /** Parses a little more, once something has arrived. False at the end. */
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
    // Where the time is over or somebody has closed it meanwhile, the body says so when it is read next.
    if (!(await pause(this.#options.clock, 0, this.#body.signal))) this.#unparsed = EMPTY;
  }

  /** Gives the server this long to end the stream itself, because then the connection can serve another request. */
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
