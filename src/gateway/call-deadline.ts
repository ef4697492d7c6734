// Owns how long a call may take at an upstream, from its first request to the answer. The time that a person takes to
// answer a question does not count. Refuses to go on when the client has cancelled.

import type { AnswerLimits } from "../mcp-client/answer-limits.ts";
import { McpFault } from "../mcp-client/fault.ts";
import type { AbortSignalLike } from "../protocol/call.ts";
import type { Era } from "../protocol/era.ts";
import { PlainSignal, type StopSignal } from "../protocol/plain-signal.ts";
import type { Lasting } from "../streams/overdue.ts";
import { SLOW_AFTER_MS, whenSlow } from "../streams/slow.ts";

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

/** What ends sooner has a timer from the beginning. */
const SOONEST_MS = 2 * SLOW_AFTER_MS;

export class Deadline {
  readonly #limitMs: number;
  readonly #by: Lasting;
  readonly #ended = new PlainSignal();
  #leftMs: number;
  #since = 0;
  #stopTimer = () => {};
  #paused = 0;
  #isOver = false;

  /** `by`: the invocation in which the call is. */
  constructor(limitMs: number, cancelled: AbortSignalLike, by: Lasting) {
    this.#limitMs = limitMs;
    this.#leftMs = limitMs;
    this.#by = by;
    cancelled.addEventListener("abort", () => this.#ended.abort());
    if (cancelled.aborted) this.#ended.abort();
    this.#start();
  }

  /** How much of the time is left, while it does not stand still. */
  get leftMs(): number {
    return this.#leftMs - (Date.now() - this.#since);
  }

  get signal(): StopSignal {
    return this.#ended;
  }

  /** Throws where the call is over, before anything was sent. */
  check(): void {
    const { aborted, reason } = this.#ended;
    if (aborted) throw reason instanceof McpFault ? reason : new McpFault({ kind: "cancelled", sent: "no" });
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
      this.#stopTimer();
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
    this.#stopTimer();
  }

  /** Most calls are over before they are slow, so only those that are not have a timer. */
  #start(): void {
    this.#since = Date.now();
    const isSoon = this.#leftMs < SOONEST_MS;
    if (isSoon) this.#startTimer(this.#leftMs);
    // Not by the clock, which may have been set meanwhile.
    else this.#stopTimer = whenSlow(this.#by, this.#since, () => this.#startTimer(this.#leftMs - SLOW_AFTER_MS));
  }

  #startTimer(afterMs: number): void {
    const timer = setTimeout(
      () => {
        this.#ended.abort(new McpFault({ kind: "timeout", stage: "total", afterMs: this.#limitMs, sent: "perhaps" }));
      },
      Math.max(0, afterMs),
    );
    this.#stopTimer = () => clearTimeout(timer);
  }
}
