// Owns reading the body of one answer piece by piece, up to its limit. However the reading ends, the body has been read
// to its end or cancelled, so that no connection stays open that nobody reads.

import { dropFrames } from "../protocol/drop-frames.ts";
import { MAX_CONTAINERS } from "../protocol/jsonrpc.ts";
import { McpFault } from "./fault.ts";
import { containersIn } from "./json-text.ts";
import type { Lifetime } from "./lifetime.ts";
import { platformCode } from "./platform-code.ts";

export interface SizeLimit {
  /** Whether the body is one message, or a stream of many. */
  readonly of: "message" | "response";
  readonly bytes: number;
}

/** Is told the size of each piece, and throws where they are too many in all. */
export type CountBytes = (bytes: number) => void;

export function upTo(limit: SizeLimit, held?: (bytes: number) => void): CountBytes {
  let counted = 0;
  return (bytes) => {
    counted += bytes;
    if (counted > limit.bytes) throw oversized(limit);
    held?.(counted);
  };
}

export function oversized(limit: SizeLimit): McpFault {
  return new McpFault({ kind: "tooLarge", what: limit.of, limitBytes: limit.bytes, sent: "yes" });
}

/** Throws where parsing a message takes much more memory than its text. Whatever is parsed of it afterwards is bounded by this. */
export function checkContainers(text: string): void {
  if (containersIn(text, MAX_CONTAINERS) <= MAX_CONTAINERS) return;
  throw new McpFault({ kind: "tooLarge", what: "message", limitContainers: MAX_CONTAINERS, sent: "yes" });
}

/** All of a body that says that it is short, as text: piece by piece costs more than what it brings. */
export function readShort(response: Response, life: Lifetime, limit: SizeLimit): Promise<string> {
  return life
    .during("silence", () => response.text())
    .then(
      (text) => {
        life.end();
        // HTTP holds a server to the length that it announced. Not every `fetch` is HTTP.
        if (text.length > limit.bytes) throw oversized(limit);
        return text;
      },
      (error: unknown) => {
        life.abandon();
        throw lostAs(error);
      },
    );
}

function lostAs(error: unknown): McpFault {
  if (error instanceof McpFault) return error;
  dropFrames(error);
  return new McpFault({ kind: "lost", stage: "body", code: platformCode(error), sent: "yes" }, error);
}

export class BodyReader {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #life: Lifetime;
  readonly #count: CountBytes;
  #isOver = false;

  constructor(body: ReadableStream<Uint8Array>, life: Lifetime, count: CountBytes) {
    this.#reader = body.getReader();
    this.#life = life;
    this.#count = count;
  }

  /** Aborts when the body is closed, and when its time is over. */
  get signal(): AbortSignal {
    return this.#life.signal;
  }

  /** The next piece; undefined at the end, and after `close`. */
  async read(): Promise<Uint8Array | undefined> {
    if (this.#isOver) return undefined;
    const piece = await this.#next();
    if (piece === undefined) return undefined;
    try {
      this.#count(piece.byteLength);
      return piece;
    } catch (error) {
      this.close();
      throw error;
    }
  }

  async #next(): Promise<Uint8Array | undefined> {
    try {
      const { done, value } = await this.#life.during("silence", () => this.#reader.read());
      if (!done) return value;
      this.#isOver = true;
      this.#life.end();
      return undefined;
    } catch (error) {
      if (this.#isOver) return undefined;
      this.close();
      throw lostAs(error);
    }
  }

  /** Cancels the body. A `read` that is waiting gets undefined. */
  close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#life.abandon();
    // This fails where the connection is gone already, which is fine.
    this.#reader.cancel().catch(() => undefined);
  }
}
