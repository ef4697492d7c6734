// Reads a request body at the pace of its client, within a byte limit, a memory budget and a time limit. The content is
// not parsed.

import { addressOf } from "../limits/address.ts";
import { MEMORY_BUDGET, SMALL_BYTES, type MemoryReservation } from "../tenants/cache/memory-budget.ts";
import { MAX_DEADLINE_MS, DEADLINES, type WaitUntilContext, type WatchedDeadline } from "./deadline-watcher.ts";

/** How slow a client may be. */
export interface MinByteRate {
  /** The longest time without a single byte. */
  readonly stallMs: number;
  /** The time before the average rate is checked. */
  readonly graceMs: number;
  /** The minimum average rate after that. */
  readonly bytesPerSecond: number;
}

/** A message of 4 MiB may take two and a half minutes: 256 kbit/s. */
export const MESSAGE_MIN_RATE: MinByteRate = { stallMs: 10_000, graceMs: 30_000, bytesPerSecond: 32 * 1024 };
/** A file of 25 MiB may take half an hour: 128 kbit/s. Uploads are authenticated. */
export const UPLOAD_MIN_RATE: MinByteRate = { stallMs: 30_000, graceMs: 60_000, bytesPerSecond: 16_384 };

/** `more`: the body has more bytes than the limit. */
export type BodyState = "whole" | "more" | "tooSlow" | "noRoom";

const EMPTY = new Uint8Array(0);
const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });
/** The platform's replacement for bytes that are not UTF-8. It is usually longer than those bytes. */
const REPLACEMENT_CHARACTER = "\uFFFD";

/** Whether parsing the JSON text may make characters beyond ASCII. */
export function hasEscapes(text: string): boolean {
  return text.includes("\\u");
}

/**
 * Bytes of memory for a JSON text and for the strings parsed from it. One character beyond Latin-1 makes a string take
 * two bytes for each of its characters.
 */
export function stringMemory({ length }: string, isAscii: boolean): number {
  return 2 * length * (isAscii ? 1 : 2);
}

export class RequestBody {
  /** The size in the headers; undefined: not stated. */
  readonly declared: number | undefined;
  readonly #request: Request;
  readonly #minRate: MinByteRate;
  readonly #reservation: MemoryReservation;
  readonly #context: WaitUntilContext | undefined;
  readonly #startedAt = Date.now();
  #reader: ByteReader | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #lastAt = 0;
  #stored: Uint8Array = EMPTY;
  #size = 0;
  #text: string | undefined;
  #isGarbled = false;
  #isDiscarded = false;

  /**
   * `context`: an invocation that can watch the deadlines of others, as they do for it. Absent: the body gets its own
   * timer, which costs more. A caller with a context wants `text`: a small body is read as text, which costs less
   * (docs/decisions/0019-speed-and-costs.md).
   */
  constructor(
    request: Request,
    minRate: MinByteRate,
    reservation = MEMORY_BUDGET.createReservation(addressOf(request.headers)),
    context?: WaitUntilContext,
  ) {
    const length = request.headers.get("content-length");
    // An application that mounts the Worker may have made the request. An invalid length counts as not stated.
    this.declared = length !== null && Number(length) >= 0 ? Number(length) : undefined;
    this.#request = request;
    this.#minRate = minRate;
    this.#reservation = reservation;
    this.#context = context;
  }

  /** The body as text; undefined: it is not UTF-8. The bytes are dropped, so that memory holds the body once. */
  get text(): string | undefined {
    if (this.#text !== undefined) return this.#isGarbled ? undefined : this.#text;
    try {
      this.#text = decoder.decode(this.bytes);
      this.#stored = EMPTY;
      return this.#text;
    } catch {
      return undefined;
    }
  }

  get bytes(): Uint8Array {
    if (this.#text !== undefined) return encoder.encode(this.#text);
    return this.#size === this.#stored.byteLength ? this.#stored : this.#stored.subarray(0, this.#size);
  }

  /**
   * Reads the whole body, up to `limit` bytes. Discards it unless the result is `whole`. Rejects if the client
   * disconnects.
   */
  async read(limit: number): Promise<BodyState> {
    let state: BodyState = "more";
    try {
      if ((this.declared ?? 0) <= limit) state = await this.#readUpTo(limit);
      return state;
    } finally {
      if (state !== "whole") this.discard();
    }
  }

  /** Reads until the body is whole or has more than `limit` bytes. */
  async #readUpTo(limit: number): Promise<BodyState> {
    const context = this.#context;
    const { declared = Infinity } = this;
    if (context !== undefined && declared <= SMALL_BYTES) return this.#readSmall(declared, limit, context);
    const { body } = this.#request;
    if (body === null) return "whole";
    this.#lastAt = Date.now();
    DEADLINES.expireDue(this.#lastAt);
    return new Promise((resolve, reject) => {
      this.#watchRate(() => {
        resolve("tooSlow");
      });
      this.#readOn(body, limit).then((state) => {
        clearTimeout(this.#timer ?? null);
        // Nothing is left of a body that was discarded, or whose client left. It must not look like an empty body.
        resolve(this.#isDiscarded ? "tooSlow" : state);
      }, reject);
    });
  }

  #watchRate(onTooSlow: () => void): void {
    const remainingMs = this.#deadline() - Date.now();
    if (remainingMs <= 0) onTooSlow();
    else {
      this.#timer = setTimeout(() => {
        this.#watchRate(onTooSlow);
      }, remainingMs);
    }
  }

  /**
   * Reserves memory for the text of the body and for the values parsed from it, which copy its strings. `valueBytes`:
   * memory of the values besides strings. false: they do not fit.
   */
  reserveParsed(valueBytes: number): boolean {
    const { text = "" } = this;
    const isAscii = text.length === this.#size && !hasEscapes(text);
    return this.#reservation.resize(stringMemory(text, isAscii) + valueBytes);
  }

  /** The body is not needed any more. */
  release(): void {
    this.#reservation.release();
  }

  /** Drops the body that was read, and cancels the rest. */
  discard(): void {
    this.#isDiscarded = true;
    clearTimeout(this.#timer ?? null);
    this.#reservation.release();
    this.#stored = EMPTY;
    this.#text = undefined;
    this.#size = 0;
    const { body } = this.#request;
    const cancelled = this.#reader ? this.#reader.cancel() : body?.locked === false ? body.cancel() : undefined;
    // The rest of the body is not needed.
    cancelled?.catch(() => {});
  }

  #deadline(): number {
    const { stallMs, graceMs, bytesPerSecond } = this.#minRate;
    return Math.min(this.#lastAt + stallMs, this.#startedAt + graceMs + (this.#size / bytesPerSecond) * 1000);
  }

  /** A small body has usually arrived with its headers. So no timer is set up for the rare one that has not. */
  #readSmall(declared: number, most: number, context: WaitUntilContext): Promise<BodyState> {
    if (!this.#reservation.resize(declared)) return Promise.resolve("noRoom");
    return new Promise((resolve, reject) => {
      const deadline: WatchedDeadline = {
        due: this.#startedAt + Math.min(this.#minRate.stallMs, MAX_DEADLINE_MS),
        // Runs in another invocation, where the request must not be used.
        onTimeout: () => {
          this.#isDiscarded = true;
          this.#reservation.release();
          resolve("tooSlow");
        },
      };
      DEADLINES.add(deadline, this.#startedAt, context);
      this.#request.text().then(
        (text) => {
          DEADLINES.remove(deadline);
          resolve(this.#setText(text, most));
        },
        (error: unknown) => {
          DEADLINES.remove(deadline);
          reject(error);
        },
      );
    });
  }

  #setText(text: string, most: number): BodyState {
    // The body may have been discarded while it arrived. Then it is not stored.
    if (this.#isDiscarded) return "tooSlow";
    const isDoubtful = text.includes(REPLACEMENT_CHARACTER);
    const declared = this.#reservation.bytes;
    if (isDoubtful || text.length > declared) {
      const { byteLength } = encoder.encode(text);
      if (byteLength > most) return "more";
      if (byteLength > declared && !this.#reservation.resize(byteLength)) return "noRoom";
      this.#isGarbled = isDoubtful && byteLength > declared;
    }
    this.#text = text;
    this.#size = this.#reservation.bytes;
    return "whole";
  }

  async #readOn(body: ReadableStream<Uint8Array>, most: number): Promise<BodyState> {
    // The platform keeps listeners, and everything they reference, until the whole invocation has ended. So the
    // listener is removed.
    const { signal } = this.#request;
    const drop = () => this.discard();
    signal.addEventListener("abort", drop);
    try {
      return await this.#readPieces(body, most);
    } finally {
      signal.removeEventListener("abort", drop);
    }
  }

  async #readPieces(body: ReadableStream<Uint8Array>, most: number): Promise<BodyState> {
    const source = (this.#reader ??= createByteReader(body));
    while (this.#size <= most) {
      const chunk = await source.next();
      // The body may have been discarded while this chunk arrived.
      if (chunk === undefined || this.#isDiscarded) return "whole";
      this.#lastAt = Date.now();
      const size = this.#size + chunk.byteLength;
      if (size > this.#stored.byteLength && !this.#grow(size, most)) return "noRoom";
      this.#stored.set(chunk, this.#size);
      this.#size = size;
    }
    return "more";
  }

  /** Doubles the buffer, up to a step. So a body that arrives byte by byte costs no more than its bytes. */
  #grow(least: number, most: number): boolean {
    const { byteLength } = this.#stored;
    const room = Math.max(least, Math.min(byteLength + Math.min(byteLength, STEP_BYTES), this.declared ?? most));
    if (!this.#reservation.resize(room)) return false;
    const larger = new Uint8Array(room);
    larger.set(this.bytes);
    this.#stored = larger;
    return true;
  }
}

/**
 * Cancels a body that will not be read, before the response. Proxies such as that of `npm start` hold the response, and
 * its connection, while the body waits to be read.
 */
export function cancelBody({ body }: Request): void {
  // The body is not needed.
  if (body?.locked === false) body.cancel().catch(() => {});
}

/** Larger chunks cost fewer turns, but each of many slow bodies has one in memory. */
const PIECE_BYTES = 16 * 1024;
const STEP_BYTES = 4 * 1024 * 1024;

interface ByteReader {
  /** Valid until the next call; undefined: the end. */
  next(): Promise<Uint8Array | undefined>;
  cancel(): Promise<void>;
}

function createByteReader(body: ReadableStream<Uint8Array>): ByteReader {
  try {
    const reader = body.getReader({ mode: "byob" });
    let piece = new Uint8Array(PIECE_BYTES);
    return {
      next: async () => {
        const { done, value } = await reader.read(piece);
        if (done || !value) return undefined;
        piece = new Uint8Array(value.buffer);
        return value;
      },
      cancel: () => reader.cancel(),
    };
  } catch {
    // An application made the stream, and it is not a byte stream.
    const reader = body.getReader();
    return { next: async () => (await reader.read()).value, cancel: () => reader.cancel() };
  }
}
