// A server-sent events stream with limits on silence (comments keep it alive), on unread bytes, and on age.
// https://html.spec.whatwg.org/multipage/server-sent-events.html

import { GAUGES } from "../telemetry/gauges.ts";
import { MEMORY_BUDGET, type MemoryReservation } from "../tenants/cache/memory-budget.ts";

/** How much may be written before the reader takes any; beyond that the reader counts as stalled. */
const MAX_UNREAD_BYTES = 4 * 1024 * 1024;
/** How much the stream buffers before the reader has to take some. */
const HIGH_WATER_BYTES = 64 * 1024;
/** A tool may report more progress in one go than any reader can take. */
const BEHIND_BYTES = 1024 * 1024;
/** All events that wait for their turn on one stream. */
const MAX_WAITING_CHARACTERS = 32 * 1024 * 1024;
/** How long a reader may read nothing at all while something waits for it. */
export const MAX_PAUSE_MS = 30_000;
const MAX_AGE_MS = 30 * 60_000;
/** Fraction by which ages vary, so that streams which began together do not end together. */
const JITTER = 0.1;

export const SSE_HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

const encoder = new TextEncoder();

/**
 * Writes JSON as one line of data. JSON strings contain no line breaks; line breaks between tokens, which other
 * programs may write, mean the same as a space.
 */
export function encodeEvent(json: string, id?: string): string {
  const line = json.replace(/[\r\n]+/g, " ");
  return `${id === undefined ? "" : `id: ${id}\n`}event: message\ndata: ${line}\n\n`;
}

export type Timer = ReturnType<typeof setTimeout> | undefined;

export function stopTimer(timer: Timer): void {
  if (timer !== undefined) clearTimeout(timer);
}

export interface EventStreamOptions {
  readonly keepaliveMs: number;
  /**
   * Whether the stream ends after about half an hour. A stream that ends with its call has the call's time limit
   * instead.
   */
  readonly hasMaxAge: boolean;
  /** The client's address, which the memory budget counts by. */
  readonly clientAddress: string;
  /** How many bytes the client may leave unread; 4 MiB by default. */
  readonly unreadBytes?: number;
  /** Called when the client has disconnected or does not read. */
  onDisconnect(): void;
  /**
   * Called when the stream reaches its maximum age. The stream ends when this returns, so this is the last moment to
   * write.
   */
  onMaxAge?(): void;
}

export class EventStream {
  readonly body: ReadableStream<Uint8Array>;
  readonly #options: EventStreamOptions;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  readonly #keepalive: ReturnType<typeof setInterval>;
  readonly #maxAgeTimer: Timer;
  /** Nothing can be written any more. */
  #closed = false;
  /** The stream closes when everything written has been read. */
  #ending = false;
  #isOver = false;
  #queue: Promise<void> = Promise.resolve();
  readonly #reservation: MemoryReservation;
  #queuedCharacters = 0;
  #stallTimer: Timer;
  #resumeWriter = () => {};

  constructor(options: EventStreamOptions) {
    this.#options = options;
    GAUGES.openStreams += 1;
    this.#reservation = MEMORY_BUDGET.createReservation(options.clientAddress);
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => {
          this.#onPull();
        },
        cancel: () => {
          this.#disconnect();
        },
      },
      new ByteLengthQueuingStrategy({ highWaterMark: HIGH_WATER_BYTES }),
    );
    // The platform holds headers back until the first byte, so one is written at once.
    this.write(": open\n\n");
    this.#keepalive = setInterval(() => this.write(": keepalive\n\n"), options.keepaliveMs);
    if (!options.hasMaxAge) return;
    this.#maxAgeTimer = setTimeout(
      () => {
        options.onMaxAge?.();
        this.end();
      },
      MAX_AGE_MS * (1 + JITTER * (2 * Math.random() - 1)),
    );
  }

  get closed(): boolean {
    return this.#closed;
  }

  writeEvent(json: string, id?: string): void {
    this.write(encodeEvent(json, id));
  }

  /** Sends an event id without a message, from which the client can resume, and the time to wait before doing so. */
  writePriming(id: string, retryMs: number): void {
    this.write(`retry: ${retryMs}\nid: ${id}\ndata:\n\n`);
  }

  /** Bytes that the client has not read yet. */
  get unread(): number {
    return HIGH_WATER_BYTES - (this.#controller?.desiredSize ?? HIGH_WATER_BYTES);
  }

  /** The client is so far behind that optional messages should be left out. */
  get isBehind(): boolean {
    return this.unread > BEHIND_BYTES;
  }

  /**
   * Writes raw SSE text. Ends the stream if the client has left too much unread, or if the isolate has no memory left.
   */
  write(text: string): void {
    const controller = this.#controller;
    if (!controller || this.#closed) return;
    const { unread } = this;
    const bytes = encoder.encode(text);
    const isTooMuch = unread > HIGH_WATER_BYTES + (this.#options.unreadBytes ?? MAX_UNREAD_BYTES);
    if (isTooMuch || !this.#reservation.resize(unread + this.#queuedCharacters + bytes.byteLength)) this.#giveUp();
    else controller.enqueue(bytes);
  }

  /**
   * Calls `write` once the client has read what was written before. Responses of many calls may be large and come at
   * once: a client that reads one after the other must not count as stalled. `characters`: about how much `write` will
   * write.
   */
  writeInTurn(characters: number, write: () => void): Promise<void> {
    if (this.#queuedCharacters > MAX_WAITING_CHARACTERS) this.#giveUp();
    this.#queuedCharacters += characters;
    if (!this.#closed && !this.#reservation.resize(this.unread + this.#queuedCharacters)) this.#giveUp();
    this.#queue = this.#queue.then(async () => {
      await this.#waitForRoom();
      this.#queuedCharacters -= characters;
      write();
    });
    return this.#queue;
  }

  /** Resolves when there is room again, or when the stream is over. */
  async #waitForRoom(): Promise<void> {
    while (!this.#closed && this.unread >= HIGH_WATER_BYTES) {
      this.#watchForStall();
      await new Promise<void>((resolve) => {
        this.#resumeWriter = resolve;
      });
    }
  }

  /** Ends the stream if the client reads nothing at all for too long. */
  #watchForStall(): void {
    if (this.#stallTimer !== undefined) return;
    const { unread } = this;
    this.#stallTimer = setTimeout(() => {
      this.#stallTimer = undefined;
      if (this.unread < unread) this.#watchForStall();
      else this.#giveUp();
    }, MAX_PAUSE_MS);
  }

  /** There is room again: the client has read nearly everything. */
  #onPull(): void {
    stopTimer(this.#stallTimer);
    this.#stallTimer = undefined;
    if (this.#ending) this.#close();
    else this.#reservation.resize(this.unread + this.#queuedCharacters);
    this.#resumeWriter();
  }

  #giveUp(): void {
    if (this.#isOver) return;
    this.#controller?.error(new Error("the reader does not read"));
    this.#disconnect();
  }

  /** Stops writing. Large unread data still counts in the memory budget, and the stream waits for it to be read. */
  end(): void {
    if (!this.#stop()) return;
    this.#ending = true;
    if (this.unread <= HIGH_WATER_BYTES) this.#close();
    else this.#watchForStall();
  }

  #close(): void {
    this.#isOver = true;
    this.#reservation.release();
    this.#controller?.close();
  }

  #disconnect(): void {
    const wasOpen = this.#stop();
    this.#isOver = true;
    stopTimer(this.#stallTimer);
    this.#reservation.release();
    if (wasOpen) this.#options.onDisconnect();
  }

  #stop(): boolean {
    if (this.#closed) return false;
    this.#closed = true;
    GAUGES.openStreams -= 1;
    stopTimer(this.#stallTimer);
    this.#stallTimer = undefined;
    this.#resumeWriter();
    clearInterval(this.#keepalive);
    stopTimer(this.#maxAgeTimer);
    return true;
  }

  respond(): Response {
    return new Response(this.body, { status: 200, headers: SSE_HEADERS });
  }
}
