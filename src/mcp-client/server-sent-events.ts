// Parses server-sent events from chunks of any size. `eventsource-parser` reads the fields. Limits on bytes and lines
// are enforced here, because that library has none.
// https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation

import { createParser } from "eventsource-parser";
import { ByteBuffer } from "./byte-buffer.ts";

export interface ServerSentEvent {
  /** Empty if the event has none, which means `message`. */
  readonly name: string;
  /** Empty if the event only sets the position. */
  readonly data: string;
  /** The id with which a client resumes after this event. undefined if it cannot resume. */
  readonly lastEventId: string | undefined;
}

/** The parser keeps each line of an event as a separate string until the event ends. */
const LINE_BYTES = 40;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
/**
 * The id goes back in a header. Platforms encode other characters differently there, and servers refuse long headers.
 */
const USABLE_ID = /^[\x20-\x7e]{1,4096}$/;
const MAX_RETRY_MS = 999_999_999;

export class EventParser {
  /** How long the server asks the client to wait before it reconnects. */
  retryMs: number | undefined;
  /** The event exceeds its limit. Nothing after it is read. */
  isTooLong = false;
  /** Lines that have ended. Each costs something, even an empty one. */
  lines = 0;
  readonly #maxBytes: number;
  readonly #decoder = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true });
  readonly #parser = createParser({
    onId: (id) => {
      this.#lastEventId = USABLE_ID.test(id) ? id : undefined;
      this.#hasNewId = true;
    },
    onEvent: ({ event, data }) => {
      if (data !== "") this.#add(event ?? "", data);
    },
    onRetry: (milliseconds) => {
      if (milliseconds <= MAX_RETRY_MS) this.retryMs = milliseconds;
    },
  });
  /** Bytes of the current event's complete lines. */
  #endedBytes = 0;
  #endedLines = 0;
  /** Bytes of the current line. */
  #lineBytes = 0;
  /**
   * The current line. The parser would keep every piece of a line, and a million small pieces take much more memory.
   */
  readonly #line = new ByteBuffer();
  #isAfterReturn = false;
  #events: ServerSentEvent[] = [];
  #lastEventId: string | undefined;
  /** An id has come since the last event with data. */
  #hasNewId = false;

  constructor(maxBytes: number, lastEventId?: string) {
    this.#maxBytes = maxBytes;
    this.#lastEventId = lastEventId;
  }

  get pendingBytes(): number {
    return this.#endedBytes + this.#lineBytes;
  }

  /** Memory that these bytes take. */
  get memoryBytes(): number {
    return this.pendingBytes + LINE_BYTES * this.#endedLines;
  }

  /** Returns the events with data that these bytes complete, then one without data if an id came after them. */
  push(bytes: Uint8Array): readonly ServerSentEvent[] {
    this.#events = [];
    this.#hasNewId = false;
    if (this.isTooLong) return this.#events;
    const accepted = bytes.subarray(0, this.#countBytes(bytes));
    const end = 1 + Math.max(accepted.lastIndexOf(LINE_FEED), accepted.lastIndexOf(CARRIAGE_RETURN));
    if (end > 0) {
      this.#line.add(accepted.subarray(0, end));
      this.#parser.feed(this.#decoder.decode(this.#line.take(), { stream: true }));
    }
    this.#line.add(accepted.subarray(end));
    if (this.#hasNewId) this.#add("", "");
    return this.#events;
  }

  #add(name: string, data: string): void {
    this.#events.push({ name, data, lastEventId: this.#lastEventId });
    this.#hasNewId = false;
  }

  /** Returns how many of the bytes are within the event's limit. */
  #countBytes(bytes: Uint8Array): number {
    let from = 0;
    for (let at = 0; at < bytes.length; at += 1) {
      const byte = bytes[at];
      if (byte !== LINE_FEED && byte !== CARRIAGE_RETURN) continue;
      const isSecondOfPair = byte === LINE_FEED && at === from && this.#isAfterReturn;
      this.#isAfterReturn = byte === CARRIAGE_RETURN;
      this.#lineBytes += at - from;
      from = at + 1;
      if (isSecondOfPair) continue;
      if (this.pendingBytes > this.#maxBytes) break;
      this.lines += 1;
      // An empty line ends the event.
      this.#endedLines = this.#lineBytes === 0 ? 0 : this.#endedLines + 1;
      this.#endedBytes = this.#lineBytes === 0 ? 0 : this.pendingBytes;
      this.#lineBytes = 0;
    }
    if (from < bytes.length) this.#isAfterReturn = false;
    this.#lineBytes += bytes.length - from;
    this.isTooLong = this.pendingBytes > this.#maxBytes;
    return this.isTooLong ? from : bytes.length;
  }
}
