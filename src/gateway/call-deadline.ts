// Owns how long a call may take at an upstream, from its first request to the answer. The time that a person takes to
// answer a question does not count. Refuses to go on when the client has cancelled.

import type { AnswerLimits } from "../mcp-client/answer-limits.ts";
import { McpFault } from "../mcp-client/fault.ts";
import type { AbortSignalLike } from "../protocol/call.ts";
import type { Era } from "../protocol/era.ts";

/** In which a call ends where a deadline stands still, because somebody has forgotten a question. */
const FORGOTTEN_MS = 3_600_000;

/** The deadline ends a call, over all the requests that it takes, so none of them has a timer of its own without need. */
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

  /** What comes of the work, unless the time is over before. */
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

  /** Gives what starts it again. Several may pause it at the same time. */
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
