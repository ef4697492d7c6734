// Reads the body of one answer chunk by chunk, up to its limit. In every case the body is read to its end or cancelled,
// so that no unread connection stays open.

import { dropFrames } from "../protocol/drop-frames.ts";
import { MAX_CONTAINERS } from "../protocol/jsonrpc.ts";
import { McpFault } from "./fault.ts";
import { countContainers } from "./json-text.ts";
import type { ExchangeLifecycle } from "./exchange-lifecycle.ts";
import { platformCode } from "./platform-code.ts";

export interface SizeLimit {
  /** Whether the body is one message, or a stream of many. */
  readonly of: "message" | "response";
  readonly bytes: number;
}

/** Receives the size of each chunk, and throws if the total is too large. */
export type CountBytes = (bytes: number) => void;

export function createByteCounter(limit: SizeLimit, onBuffered?: (bytes: number) => void): CountBytes {
  let counted = 0;
  return (bytes) => {
    counted += bytes;
    if (counted > limit.bytes) throw tooLargeFault(limit);
    onBuffered?.(counted);
  };
}

export function tooLargeFault(limit: SizeLimit): McpFault {
  return new McpFault({ kind: "tooLarge", what: limit.of, limitBytes: limit.bytes, sent: "yes" });
}

/**
 * Throws if parsing the message would take much more memory than its text. This bounds everything parsed from it later.
 */
export function checkContainers(text: string): void {
  if (countContainers(text, MAX_CONTAINERS) <= MAX_CONTAINERS) return;
  throw new McpFault({ kind: "tooLarge", what: "message", limitContainers: MAX_CONTAINERS, sent: "yes" });
}

/** Reads a body of known short length as text, because reading in chunks costs more than the body is worth. */
export function readShort(response: Response, lifecycle: ExchangeLifecycle, limit: SizeLimit): Promise<string> {
  return lifecycle
    .race("silence", () => response.text())
    .then(
      (text) => {
        lifecycle.end();
        // HTTP enforces the announced length, but not every `fetch` is HTTP.
        if (text.length > limit.bytes) throw tooLargeFault(limit);
        return text;
      },
      (error: unknown) => {
        lifecycle.cancel();
        throw toLostFault(error);
      },
    );
}

function toLostFault(error: unknown): McpFault {
  if (error instanceof McpFault) return error;
  dropFrames(error);
  return new McpFault({ kind: "lost", stage: "body", code: platformCode(error), sent: "yes" }, error);
}

export class BodyReader {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #lifecycle: ExchangeLifecycle;
  readonly #count: CountBytes;
  #isEnded = false;

  constructor(body: ReadableStream<Uint8Array>, lifecycle: ExchangeLifecycle, count: CountBytes) {
    this.#reader = body.getReader();
    this.#lifecycle = lifecycle;
    this.#count = count;
  }

  /** Aborts when the body is closed, or when its time limit has passed. */
  get signal(): AbortSignal {
    return this.#lifecycle.signal;
  }

  /** The next chunk. Returns undefined at the end and after `close`. */
  async read(): Promise<Uint8Array | undefined> {
    if (this.#isEnded) return undefined;
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
      const { done, value } = await this.#lifecycle.race("silence", () => this.#reader.read());
      if (!done) return value;
      this.#isEnded = true;
      this.#lifecycle.end();
      return undefined;
    } catch (error) {
      if (this.#isEnded) return undefined;
      this.close();
      throw toLostFault(error);
    }
  }

  /** Cancels the body. A pending `read` resolves to undefined. */
  close(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#lifecycle.cancel();
    // Fails if the connection is gone already, which is fine.
    this.#reader.cancel().catch(() => undefined);
  }
}
