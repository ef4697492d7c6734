// Owns taking in the body of a request at the pace of its client: as many bytes as whoever reads has decided to take, in
// memory that is counted, within a time. Refuses to look at what the bytes say.

import { addressOf } from "../limits/address.ts";
import { HELD, SMALL_BYTES, type HeldShare } from "../tenants/isolate/held-bytes.ts";
import { LONGEST_MS, OVERDUE, type Lasting, type Waiting } from "./overdue.ts";

/** How slow a client may be. */
export interface Pace {
  /** Without a single byte. */
  readonly stallMs: number;
  /** In all, before it is asked how many bytes came. */
  readonly graceMs: number;
  /** What has to come on average after that. */
  readonly bytesPerSecond: number;
}

/** A message of 4 MiB may take two and a half minutes: 256 kbit/s. */
export const MESSAGE_PACE: Pace = { stallMs: 10_000, graceMs: 30_000, bytesPerSecond: 32 * 1024 };
/** A file of 25 MiB may take half an hour: 128 kbit/s. Who uploads one is known. */
export const UPLOAD_PACE: Pace = { stallMs: 30_000, graceMs: 60_000, bytesPerSecond: 16_384 };

/** `more`: there are more bytes than were to be read. */
export type BodyState = "whole" | "more" | "tooSlow" | "noRoom";

const NOTHING = new Uint8Array(0);
const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });
/** What the platform writes where bytes are no UTF-8. Most often it is longer than they were. */
const REPLACED = "\uFFFD";

export class RequestBody {
  /** What the headers say of its size; undefined: nothing. */
  readonly declared: number | undefined;
  readonly #request: Request;
  readonly #pace: Pace;
  readonly #share: HeldShare;
  readonly #invocation: Lasting | undefined;
  readonly #begun = Date.now();
  #source: Source | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #lastAt = 0;
  #stored: Uint8Array = NOTHING;
  #size = 0;
  #text: string | undefined;
  #isGarbled = false;
  #dropped = false;

  /**
   * `invocation`: where it may keep watch for others, as they do for it; absent: it has a timer of its own, which costs.
   * Who gives one wants `text`: what is small is read as such, which costs less (docs/decisions/0052).
   */
  constructor(request: Request, pace: Pace, share = HELD.open(addressOf(request.headers)), invocation?: Lasting) {
    const length = request.headers.get("content-length");
    // An application that mounts the Worker may have made the request: what is no length says nothing.
    this.declared = length !== null && Number(length) >= 0 ? Number(length) : undefined;
    this.#request = request;
    this.#pace = pace;
    this.#share = share;
    this.#invocation = invocation;
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
  async read(most: number): Promise<BodyState> {
    let state: BodyState = "more";
    try {
      if ((this.declared ?? 0) <= most) state = await this.#readUpTo(most);
      return state;
    } finally {
      if (state !== "whole") this.drop();
    }
  }

  /** Until the body is whole or has more than `most` bytes. */
  async #readUpTo(most: number): Promise<BodyState> {
    const invocation = this.#invocation;
    const { declared = Infinity } = this;
    if (invocation !== undefined && declared <= SMALL_BYTES) return this.#readAtOnce(declared, most, invocation);
    const { body } = this.#request;
    if (body === null) return "whole";
    this.#lastAt = Date.now();
    OVERDUE.look(this.#lastAt);
    return new Promise((resolve, reject) => {
      this.#watch(() => {
        resolve("tooSlow");
      });
      this.#readOn(body, most).then((state) => {
        clearTimeout(this.#timer ?? null);
        // Nothing is there any more of what was given up, or whose client left: it is no body of no bytes.
        resolve(this.#dropped ? "tooSlow" : state);
      }, reject);
    });
  }

  #watch(tooSlow: () => void): void {
    const left = this.#due() - Date.now();
    if (left <= 0) tooSlow();
    else {
      this.#timer = setTimeout(() => {
        this.#watch(tooSlow);
      }, left);
    }
  }

  /** Holds so many bytes beside what was read, for what is made of it. false: they do not fit. */
  holdMore(bytes: number): boolean {
    return this.#share.resize(this.#share.bytes + bytes);
  }

  /** What was read is not needed any more. */
  release(): void {
    this.#share.release();
  }

  /** Gives up what was read, and the connection with what was not: nobody waits for the rest. */
  drop(): void {
    this.#dropped = true;
    clearTimeout(this.#timer ?? null);
    this.#share.release();
    this.#stored = NOTHING;
    this.#text = undefined;
    this.#size = 0;
    const { body } = this.#request;
    const cancelled = this.#source ? this.#source.cancel() : body?.locked === false ? body.cancel() : undefined;
    // Nobody reads it any more.
    cancelled?.catch(() => {});
  }

  #due(): number {
    const { stallMs, graceMs, bytesPerSecond } = this.#pace;
    return Math.min(this.#lastAt + stallMs, this.#begun + graceMs + (this.#size / bytesPerSecond) * 1000);
  }

  /** What is small has most often come with its headers: nothing of its own is set up for the rare one that has not. */
  #readAtOnce(declared: number, most: number, invocation: Lasting): Promise<BodyState> {
    if (!this.#share.resize(declared)) return Promise.resolve("noRoom");
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        due: this.#begun + Math.min(this.#pace.stallMs, LONGEST_MS),
        // In another's invocation, where the request must not be touched.
        giveUp: () => {
          this.#dropped = true;
          this.#share.release();
          resolve("tooSlow");
        },
      };
      OVERDUE.begin(waiting, this.#begun, invocation);
      this.#request.text().then(
        (text) => {
          OVERDUE.end(waiting);
          resolve(this.#take(text, most));
        },
        (error: unknown) => {
          OVERDUE.end(waiting);
          reject(error);
        },
      );
    });
  }

  #take(text: string, most: number): BodyState {
    // It may have been given up while it was on its way: then it is not held.
    if (this.#dropped) return "tooSlow";
    const isDoubtful = text.includes(REPLACED);
    const declared = this.#share.bytes;
    if (isDoubtful || text.length > declared) {
      const { byteLength } = encoder.encode(text);
      if (byteLength > most) return "more";
      if (byteLength > declared && !this.#share.resize(byteLength)) return "noRoom";
      this.#isGarbled = isDoubtful && byteLength > declared;
    }
    this.#text = text;
    return "whole";
  }

  async #readOn(body: ReadableStream<Uint8Array>, most: number): Promise<BodyState> {
    // The platform keeps who listens, and all that they reach, until the whole invocation has ended.
    const { signal } = this.#request;
    const drop = () => this.drop();
    signal.addEventListener("abort", drop);
    try {
      return await this.#readPieces(body, most);
    } finally {
      signal.removeEventListener("abort", drop);
    }
  }

  async #readPieces(body: ReadableStream<Uint8Array>, most: number): Promise<BodyState> {
    const source = (this.#source ??= sourceOf(body));
    while (this.#size <= most) {
      const chunk = await source.next();
      // It may have been given up while this piece was on its way.
      if (chunk === undefined || this.#dropped) return "whole";
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
    if (!this.#share.resize(room)) return false;
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
export function giveUpBody({ body }: Request): void {
  // Nobody reads it any more.
  if (body?.locked === false) body.cancel().catch(() => {});
}

/** Larger pieces cost fewer turns; each of many slow bodies has one. */
const PIECE_BYTES = 16 * 1024;
const STEP_BYTES = 4 * 1024 * 1024;

interface Source {
  /** Valid until the next one; undefined: there are no more. */
  next(): Promise<Uint8Array | undefined>;
  cancel(): Promise<void>;
}

function sourceOf(body: ReadableStream<Uint8Array>): Source {
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
