// Server-sent events in a stream of bytes that arrives in pieces of any size. `eventsource-parser` reads the fields; the limits, on
// bytes and lines, are here, because it counts neither.
// https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation

import { createParser } from "eventsource-parser";
import { ByteBuffer } from "./byte-buffer.ts";

export interface ServerSentEvent {
  /** Empty where the event has none, which means `message`. */
  readonly name: string;
  /** Empty where the event only says where the stream stands. */
  readonly data: string;
  /** What a client sends to continue after this event; undefined where it cannot. */
  readonly lastEventId: string | undefined;
}

/** The parser keeps the text of each line of an event by itself until the event ends. */
const LINE_BYTES = 40;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
/** An id goes back in a header, where platforms write other characters differently, and servers refuse long ones. */
const USABLE_ID = /^[\x20-\x7e]{1,4096}$/;
const MAX_RETRY_MS = 999_999_999;

export class EventParser {
  /** How long the server wants its client to wait before it comes back. */
  retryMs: number | undefined;
  /** An event has more bytes than it may: nothing that follows is read. */
  isTooLong = false;
  /** How many lines have ended. Each costs something, even where it says nothing. */
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
  /** Of the lines of the event that has begun, but the last. */
  #endedBytes = 0;
  #endedLines = 0;
  /** Of the line that has begun. */
  #lineBytes = 0;
  /** The same bytes. The parser would keep each piece of a line, and a million small ones take much more memory. */
  readonly #line = new ByteBuffer();
  #isAfterReturn = false;
  #events: ServerSentEvent[] = [];
  #lastEventId: string | undefined;
  /** An id has come, and no event with data since. */
  #hasNewId = false;

  constructor(maxBytes: number, lastEventId?: string) {
    this.#maxBytes = maxBytes;
    this.#lastEventId = lastEventId;
  }

  /** The bytes of the event that has begun. */
  get pendingBytes(): number {
    return this.#endedBytes + this.#lineBytes;
  }

  /** How much memory those take. */
  get memoryBytes(): number {
    return this.pendingBytes + LINE_BYTES * this.#endedLines;
  }

  /** The events with data that these bytes complete; then one without, if an id came after them. */
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

  /** Gives how many of them are within the limit of an event. */
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
