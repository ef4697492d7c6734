// Owns how long a call may take at an upstream, from its first request to the answer. The time that a person takes to
// answer a question does not count. Refuses to go on when the client has cancelled.

import type { AnswerLimits } from "../mcp-client/answer-limits.ts";
import { McpFault } from "../mcp-client/fault.ts";
import type { AbortSignalLike } from "../protocol/call.ts";
import type { Era } from "../protocol/era.ts";

/** While a question is open the deadline stands still. A call whose question nobody ever answers ends after this time. */
const FORGOTTEN_MS = 3_600_000;

/** The deadline ends a call, over all the requests that it takes, so none of them has a timer of its own without need. */
const LIMITS: Readonly<Record<Era, Partial<AnswerLimits>>> = {
  "2025": { headersMs: Infinity, silenceMs: Infinity, totalMs: FORGOTTEN_MS },
  "2026": { headersMs: Infinity, silenceMs: Infinity, totalMs: Infinity },
};

/** The limits of one request to an upstream. */
export function callLimits(upstream: Era): Partial<AnswerLimits> {
  return LIMITS[upstream];
}

export class Deadline {
  readonly #limitMs: number;
  readonly #cancelled: AbortSignalLike;
  readonly #ended = new AbortController();
  #leftMs: number;
  #since = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #paused = 0;
  #isOver = false;

  constructor(limitMs: number, cancelled: AbortSignalLike) {
    this.#limitMs = limitMs;
    this.#leftMs = limitMs;
    this.#cancelled = cancelled;
    cancelled.addEventListener("abort", this.#cancel);
    if (cancelled.aborted) this.#cancel();
    this.#start();
  }

  readonly #cancel = (): void => {
    this.#ended.abort(new McpFault({ kind: "cancelled", sent: "no" }));
  };

  /** How much of the time is left, while it does not stand still. */
  get leftMs(): number {
    return this.#leftMs - (Date.now() - this.#since);
  }

  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  /** Throws where the call is over, before anything was sent. */
  check(): void {
    this.signal.throwIfAborted();
  }

  /** Waits for the work; rejects when the time is over before it, or the client has cancelled. */
  async during<T>(work: Promise<T>): Promise<T> {
    const { signal } = this;
    let over = () => {};
    const ended = new Promise<never>((_resolve, reject) => {
      over = () => {
        reject(signal.reason as McpFault);
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
    this.#cancelled.removeEventListener("abort", this.#cancel);
  }

  #start(): void {
    this.#since = Date.now();
    this.#timer = setTimeout(
      () => {
        this.#ended.abort(new McpFault({ kind: "timeout", stage: "total", afterMs: this.#limitMs, sent: "perhaps" }));
      },
      Math.max(0, this.#leftMs),
    );
  }
}
