// Owns taking in the body of a request at the pace of its client: as many bytes as whoever reads has decided to take, in
// memory that is counted, within a time. Refuses to look at what the bytes say.

import { addressOf } from "../limits/address.ts";
import { MEMORY_BUDGET, SMALL_BYTES, type MemoryReservation } from "../tenants/cache/memory-budget.ts";
import { MAX_DEADLINE_MS, DEADLINES, type WaitUntilContext, type WatchedDeadline } from "./deadline-watcher.ts";

/** How slow a client may be. */
export interface MinByteRate {
  /** Without a single byte. */
  readonly stallMs: number;
  /** In all, before it is asked how many bytes came. */
  readonly graceMs: number;
  /** What has to come on average after that. */
  readonly bytesPerSecond: number;
}

/** A message of 4 MiB may take two and a half minutes: 256 kbit/s. */
export const MESSAGE_MIN_RATE: MinByteRate = { stallMs: 10_000, graceMs: 30_000, bytesPerSecond: 32 * 1024 };
/** A file of 25 MiB may take half an hour: 128 kbit/s. Who uploads one is known. */
export const UPLOAD_MIN_RATE: MinByteRate = { stallMs: 30_000, graceMs: 60_000, bytesPerSecond: 16_384 };

/** `more`: there are more bytes than were to be read. */
export type BodyState = "whole" | "more" | "tooSlow" | "noRoom";

const EMPTY = new Uint8Array(0);
const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });
/** What the platform writes where bytes are no UTF-8. Most often it is longer than they were. */
const REPLACEMENT_CHARACTER = "\uFFFD";

export class RequestBody {
  /** What the headers say of its size; undefined: nothing. */
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
   * `invocation`: where it may keep watch for others, as they do for it; absent: it has a timer of its own, which costs.
   * Who gives one wants `text`: what is small is read as such, which costs less (docs/decisions/0052).
   */
  constructor(
    request: Request,
    minRate: MinByteRate,
    reservation = MEMORY_BUDGET.createReservation(addressOf(request.headers)),
    context?: WaitUntilContext,
  ) {
    const length = request.headers.get("content-length");
    // An application that mounts the Worker may have made the request: what is no length says nothing.
    this.declared = length !== null && Number(length) >= 0 ? Number(length) : undefined;
    this.#request = request;
    this.#minRate = minRate;
    this.#reservation = reservation;
    this.#context = context;
  }

  /** What was read as text; undefined: it is no UTF-8. */
  get text(): string | undefined {
    if (this.#text !== undefined) return this.#isGarbled ? undefined : this.#text;
    try {
      return decoder.decode(this.bytes);
    } catch {
      return undefined;
    }
  }

  /** What was read. */
  get bytes(): Uint8Array {
    if (this.#text !== undefined) return encoder.encode(this.#text);
    return this.#size === this.#stored.byteLength ? this.#stored : this.#stored.subarray(0, this.#size);
  }

  /** Reads it to its end, within `most` bytes; it is given up when it is not `whole`. Rejects when its client leaves. */
  async read(limit: number): Promise<BodyState> {
    let state: BodyState = "more";
    try {
      if ((this.declared ?? 0) <= limit) state = await this.#readUpTo(limit);
      return state;
    } finally {
      if (state !== "whole") this.discard();
    }
  }

  /** Until the body is whole or has more than `most` bytes. */
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
        // Nothing is there any more of what was given up, or whose client left: it is no body of no bytes.
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

  /** Holds so many bytes beside what was read, for what is made of it. false: they do not fit. */
  reserveMore(bytes: number): boolean {
    return this.#reservation.resize(this.#reservation.bytes + bytes);
  }

  /** What was read is not needed any more. */
  release(): void {
    this.#reservation.release();
  }

  /** Gives up what was read, and the connection with what was not: nobody waits for the rest. */
  discard(): void {
    this.#isDiscarded = true;
    clearTimeout(this.#timer ?? null);
    this.#reservation.release();
    this.#stored = EMPTY;
    this.#text = undefined;
    this.#size = 0;
    const { body } = this.#request;
    const cancelled = this.#reader ? this.#reader.cancel() : body?.locked === false ? body.cancel() : undefined;
    // Nobody reads it any more.
    cancelled?.catch(() => {});
  }

  #deadline(): number {
    const { stallMs, graceMs, bytesPerSecond } = this.#minRate;
    return Math.min(this.#lastAt + stallMs, this.#startedAt + graceMs + (this.#size / bytesPerSecond) * 1000);
  }

  /** What is small has most often come with its headers: nothing of its own is set up for the rare one that has not. */
  #readSmall(declared: number, most: number, context: WaitUntilContext): Promise<BodyState> {
    if (!this.#reservation.resize(declared)) return Promise.resolve("noRoom");
    return new Promise((resolve, reject) => {
      const deadline: WatchedDeadline = {
        due: this.#startedAt + Math.min(this.#minRate.stallMs, MAX_DEADLINE_MS),
        // In another's invocation, where the request must not be touched.
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
    // It may have been given up while it was on its way: then it is not held.
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
    return "whole";
  }

  async #readOn(body: ReadableStream<Uint8Array>, most: number): Promise<BodyState> {
    // The platform keeps who listens, and all that they reach, until the whole invocation has ended.
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
      // It may have been given up while this piece was on its way.
      if (chunk === undefined || this.#isDiscarded) return "whole";
      this.#lastAt = Date.now();
      const size = this.#size + chunk.byteLength;
      if (size > this.#stored.byteLength && !this.#grow(size, most)) return "noRoom";
      this.#stored.set(chunk, this.#size);
      this.#size = size;
    }
    return "more";
  }

  /** Doubles what there is room for, up to a step: a body of which one byte comes at a time costs no more than its bytes. */
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
 * Gives up a body that nobody will read, before it is answered: proxies such as those of `npm start` keep the answer, and
 * the connection with it, while the body waits to be read.
 */
export function cancelBody({ body }: Request): void {
  // Nobody reads it any more.
  if (body?.locked === false) body.cancel().catch(() => {});
}

/** Larger pieces cost fewer turns; each of many slow bodies has one. */
const PIECE_BYTES = 16 * 1024;
const STEP_BYTES = 4 * 1024 * 1024;

interface ByteReader {
  /** Valid until the next one; undefined: there are no more. */
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
    // A stream that somebody made, not one of bytes that arrive.
    const reader = body.getReader();
    return { next: async () => (await reader.read()).value, cancel: () => reader.cancel() };
  }
}
