// Owns taking in the body of a request at the pace of its client: as many bytes as whoever reads has decided to take, in
// memory that is counted, within a time. Refuses to look at what the bytes say.

import { HELD, SMALL_BYTES, type HeldShare } from "../tenants/isolate/held-bytes.ts";

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
export const UPLOAD_PACE: Pace = { stallMs: 30_000, graceMs: 60_000, bytesPerSecond: 16 * 1024 };

/** `more`: there are more bytes than were to be read. */
export type BodyState = "whole" | "more" | "tooSlow" | "noRoom";

/** What the headers say of the size; undefined: nothing. */
export function declaredBytes({ headers }: Request): number | undefined {
  const length = headers.get("content-length");
  return length === null ? undefined : Number(length);
}

export class RequestBody {
  readonly #request: Request;
  readonly #pace: Pace;
  readonly #declared: number | undefined;
  readonly #share: HeldShare;
  readonly #begun = Date.now();
  #source: Source | undefined;
  #beginning: Promise<BodyState> | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #lastAt = 0;
  #stored = new Uint8Array(0);
  #size = 0;

  constructor(request: Request, pace: Pace, share = HELD.open()) {
    this.#request = request;
    this.#pace = pace;
    this.#declared = declaredBytes(request);
    this.#share = share;
  }

  /** What was read. */
  get bytes(): Uint8Array {
    return this.#size === this.#stored.byteLength ? this.#stored : this.#stored.subarray(0, this.#size);
  }

  /** Starts reading so much at most, while something else is waited for. */
  begin(most: number): void {
    this.#beginning = this.#read(most);
    // Whoever reads on meets it again, if anybody does.
    this.#beginning.catch(() => {});
  }

  /** Reads it to its end, within `most` bytes; it is given up when it is not `whole`. Rejects when its client leaves. */
  async read(most: number): Promise<BodyState> {
    try {
      const state = await this.#readWithin(most);
      if (state !== "whole") this.drop();
      return state;
    } catch (error) {
      this.drop();
      throw error;
    }
  }

  async #readWithin(most: number): Promise<BodyState> {
    if ((this.#declared ?? 0) > most) return "more";
    const begun = this.#beginning && (await this.#beginning);
    if (this.#size > most) return "more";
    return begun === undefined || begun === "more" ? this.#read(most) : begun;
  }

  /** Reads on until the body is whole or has more than `most` bytes. */
  #read(most: number): Promise<BodyState> {
    const { body } = this.#request;
    if (body === null) return Promise.resolve("whole");
    this.#lastAt = Date.now();
    return new Promise((resolve, reject) => {
      const watch = () => {
        const left = this.#due() - Date.now();
        if (left > 0) this.#timer = setTimeout(watch, left);
        else resolve("tooSlow");
      };
      watch();
      const isSmall = this.#source === undefined && (this.#declared ?? Infinity) <= Math.min(SMALL_BYTES, most);
      (isSmall ? this.#readAtOnce(this.#declared ?? 0) : this.#readOn(body, most)).then(resolve, reject).finally(() => {
        clearTimeout(this.#timer ?? null);
      });
    });
  }

  /** What was read is not needed any more. */
  release(): void {
    this.#share.release();
  }

  /** Gives up what was read, and the connection with what was not. */
  drop(): void {
    clearTimeout(this.#timer ?? null);
    this.#share.release();
    this.#stored = new Uint8Array(0);
    this.#size = 0;
    cancelBody(this.#request, this.#source);
  }

  #due(): number {
    const { stallMs, graceMs, bytesPerSecond } = this.#pace;
    return Math.min(this.#lastAt + stallMs, this.#begun + graceMs + (this.#size / bytesPerSecond) * 1000);
  }

  async #readAtOnce(declared: number): Promise<BodyState> {
    if (!this.#share.resize(declared)) return "noRoom";
    this.#stored = new Uint8Array(await this.#request.arrayBuffer());
    this.#size = this.#stored.byteLength;
    return "whole";
  }

  async #readOn(body: ReadableStream<Uint8Array>, most: number): Promise<BodyState> {
    const source = (this.#source ??= sourceOf(body));
    while (this.#size <= most) {
      const chunk = await source.next();
      if (chunk === undefined) return "whole";
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
    const room = Math.max(least, Math.min(byteLength + Math.min(byteLength, STEP_BYTES), this.#declared ?? most));
    if (!this.#share.resize(room)) return false;
    const larger = new Uint8Array(room);
    larger.set(this.bytes);
    this.#stored = larger;
    return true;
  }
}

/** Gives up the body of a request that is refused: nobody waits for the rest of it. */
export function cancelBody({ body }: Request, source?: Source): void {
  const cancelled = source ? source.cancel() : body?.locked === false ? body.cancel() : undefined;
  cancelled?.catch(() => {});
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
