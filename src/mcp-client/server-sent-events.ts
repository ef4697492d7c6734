// Owns finding server-sent events in a stream of bytes that arrives in pieces of any size: names, data, ids, the asked
// pause. Works on bytes, so that a limit on them is exact. Refuses an event that is too long, and to know who reads.
// https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation

import { ByteBuffer } from "./byte-buffer.ts";

export interface ServerSentEvent {
  /** Empty where the event has none, which means `message`. */
  readonly name: string;
  /** Empty where the event only says where the stream stands. */
  readonly data: string;
  /** What a client sends to continue after this event; undefined where it cannot. */
  readonly lastEventId: string | undefined;
}

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const COLON = 0x3a;
/** An id goes back in a header, where platforms write other characters differently, and servers refuse long ones. */
const USABLE_ID = /^[\x20-\x7e]{1,4096}$/;

export class EventParser {
  /** How long the server wants its client to wait before it comes back. */
  retryMs: number | undefined;
  /** An event has more bytes than it may: nothing that follows is read. */
  isTooLong = false;
  /** How many lines have ended. Each costs something, even where it says nothing. */
  lines = 0;
  readonly #maxBytes: number;
  readonly #decoder = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true });
  /** The line that has begun. */
  readonly #line = new ByteBuffer();
  #isFirstLine = true;
  #isAfterReturn = false;
  /** The event that has begun. */
  #data: string[] = [];
  #dataBytes = 0;
  #name = "";
  #id: string | undefined;
  #hasId = false;

  constructor(maxBytes: number, lastEventId?: string) {
    this.#maxBytes = maxBytes;
    this.#id = lastEventId;
  }

  /** The bytes of the event that has begun. */
  get waiting(): number {
    return this.#dataBytes + this.#line.length;
  }

  /**
   * The events that these bytes complete. Of several in a row without data only the last is there: each of them says
   * no more than where the stream stands.
   */
  push(bytes: Uint8Array): ServerSentEvent[] {
    const events: ServerSentEvent[] = [];
    for (const line of this.#lines(bytes)) {
      if (this.#dataBytes + line.length > this.#maxBytes) this.isTooLong = true;
      if (this.isTooLong) return events;
      const event = this.#take(line);
      if (event === undefined) continue;
      if (event.data === "" && events.at(-1)?.data === "") events.pop();
      events.push(event);
    }
    if (this.waiting > this.#maxBytes) this.isTooLong = true;
    return events;
  }

  *#lines(bytes: Uint8Array): Generator<Uint8Array, void, void> {
    const ends = new LineEnds(bytes);
    let from = this.#isAfterReturn && bytes[0] === LINE_FEED ? 1 : 0;
    if (bytes.length > 0) this.#isAfterReturn = false;
    for (let end = ends.next(from); end >= 0; end = ends.next(from)) {
      this.#line.add(bytes.subarray(from, end));
      yield this.#endLine();
      from = end + 1;
      if (bytes[end] !== CARRIAGE_RETURN) continue;
      if (from === bytes.length) this.#isAfterReturn = true;
      else if (bytes[from] === LINE_FEED) from += 1;
    }
    this.#line.add(bytes.subarray(from));
  }

  #endLine(): Uint8Array {
    const line = this.#line.take();
    this.lines += 1;
    const isFirst = this.#isFirstLine;
    this.#isFirstLine = false;
    return isFirst ? withoutMark(line) : line;
  }

  #take(line: Uint8Array): ServerSentEvent | undefined {
    if (line.length === 0) return this.#dispatch();
    // A comment, which keeps the connection alive.
    if (line[0] === COLON) return undefined;
    const text = this.#decoder.decode(line);
    const colon = text.indexOf(":");
    const field = colon < 0 ? text : text.slice(0, colon);
    const value = colon < 0 ? "" : text.slice(text.startsWith(" ", colon + 1) ? colon + 2 : colon + 1);
    this.#setField(field, value, line.length);
    return undefined;
  }

  #setField(field: string, value: string, bytes: number): void {
    if (field === "data") {
      this.#data.push(value);
      this.#dataBytes += bytes;
    }
    if (field === "event") this.#name = value;
    if (field === "id" && !value.includes("\0")) {
      this.#id = value;
      this.#hasId = true;
    }
    if (field === "retry" && /^\d{1,9}$/.test(value)) this.retryMs = Number(value);
  }

  #dispatch(): ServerSentEvent | undefined {
    const name = this.#name;
    const data = this.#data.join("\n");
    const isSaid = data !== "" || this.#hasId;
    this.#name = "";
    this.#data = [];
    this.#dataBytes = 0;
    this.#hasId = false;
    return isSaid ? { name, data, lastEventId: usableId(this.#id) } : undefined;
  }
}

function usableId(id: string | undefined): string | undefined {
  return id !== undefined && USABLE_ID.test(id) ? id : undefined;
}

/** Where lines end in one piece of a stream. Each byte is looked at once, although there are two kinds of ends. */
class LineEnds {
  readonly #bytes: Uint8Array;
  #feed = -2;
  #return = -2;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** The first end at `from` or later; -1 for none. */
  next(from: number): number {
    if (this.#feed !== -1 && this.#feed < from) this.#feed = this.#bytes.indexOf(LINE_FEED, from);
    if (this.#return !== -1 && this.#return < from) this.#return = this.#bytes.indexOf(CARRIAGE_RETURN, from);
    if (this.#feed < 0 || this.#return < 0) return Math.max(this.#feed, this.#return);
    return Math.min(this.#feed, this.#return);
  }
}

/** Some servers begin with a byte order mark. */
function withoutMark(line: Uint8Array): Uint8Array {
  return line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf ? line.subarray(3) : line;
}
