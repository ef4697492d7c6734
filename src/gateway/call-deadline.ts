// Owns how long a call may take at an upstream, from its first request to the answer. The time that a person takes to
// answer a question does not count. Refuses to go on when the client has cancelled.

import type { AnswerLimits } from "../mcp-client/answer-limits.ts";
import { McpFault } from "../mcp-client/fault.ts";
import type { AbortSignalLike } from "../protocol/call.ts";
import type { Era } from "../protocol/era.ts";

/** While a question is open the deadline stands still. A call whose question nobody ever answers ends after this time. */
const FORGOTTEN_MS = 3_600_000;

/**
 * The limits of one request to an upstream. A call may take several requests, and its `Deadline` ends it as a whole, so most
 * limits of a single request are off.
 */
export function callLimits(upstream: Era): Partial<AnswerLimits> {
  return { headersMs: Infinity, silenceMs: Infinity, totalMs: upstream === "2026" ? Infinity : FORGOTTEN_MS };
}

export class Deadline {
  readonly #limitMs: number;
  readonly #abort = new AbortController();
  #leftMs: number;
  #since = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #paused = 0;
  #isOver = false;

  constructor(limitMs: number, cancelled: AbortSignalLike) {
    this.#limitMs = limitMs;
    this.#leftMs = limitMs;
    cancelled.addEventListener("abort", () => this.#abort.abort());
    if (cancelled.aborted) this.#abort.abort();
    this.#start();
  }

  /** How much of the time is left, while it does not stand still. */
  get leftMs(): number {
    return this.#leftMs - (Date.now() - this.#since);
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Waits for the work; rejects when the time is over before it, or the client has cancelled. */
  async during<T>(work: Promise<T>): Promise<T> {
    const { signal } = this;
    let over = () => {};
    const ended = new Promise<never>((_resolve, reject) => {
      over = () => {
        reject(signal.reason instanceof McpFault ? signal.reason : new McpFault({ kind: "cancelled", sent: "no" }));
      };
    });
    if (signal.aborted) over();
    signal.addEventListener("abort", over);
    return Promise.race([work, ended]).finally(() => {
      signal.removeEventListener("abort", over);
    });
  }

  /** Stops the clock; the function that is returned starts it again. It runs only when nobody holds it any more. */
  pause(): () => void {
    if (this.#paused === 0) {
      clearTimeout(this.#timer ?? null);
      this.#leftMs -= Date.now() - this.#since;
    }
    this.#paused += 1;
    return () => {
      this.#paused -= 1;
      if (this.#paused === 0 && !this.#isOver) this.#start();
    };
  }

  end(): void {
    this.#isOver = true;
    clearTimeout(this.#timer ?? null);
  }

  #start(): void {
    this.#since = Date.now();
    this.#timer = setTimeout(
      () => {
        this.#abort.abort(new McpFault({ kind: "timeout", stage: "total", afterMs: this.#limitMs, sent: "perhaps" }));
      },
      Math.max(0, this.#leftMs),
    );
  }
}
