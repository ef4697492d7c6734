// Owns how long a call may take at an upstream, from its first request to the answer. The time that a person takes to
// answer a question does not count. Refuses to go on when the client has cancelled.

import type { AnswerLimits } from "../mcp-client/answer-limits.ts";
import { McpFault } from "../mcp-client/fault.ts";
import type { AbortSignalLike } from "../protocol/mcp-request.ts";
import type { Era } from "../protocol/revisions.ts";

/** While a question is open the deadline stands still. A call whose question nobody ever answers ends after this time. */
const MAX_QUESTION_MS = 3_600_000;

/** The deadline ends a call, over all the requests that it takes, so none of them has a timer of its own without need. */
const LIMITS_BY_ERA: Readonly<Record<Era, Partial<AnswerLimits>>> = {
  "2025": { headersMs: Infinity, silenceMs: Infinity, totalMs: MAX_QUESTION_MS },
  "2026": { headersMs: Infinity, silenceMs: Infinity, totalMs: Infinity },
};

/** The limits of one request to an upstream. */
export function callLimits(upstreamEra: Era): Partial<AnswerLimits> {
  return LIMITS_BY_ERA[upstreamEra];
}

export class Deadline {
  readonly #limitMs: number;
  readonly #clientSignal: AbortSignalLike;
  readonly #controller = new AbortController();
  #remainingMs: number;
  #startedAt = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #pauseCount = 0;
  #isEnded = false;

  constructor(limitMs: number, clientSignal: AbortSignalLike) {
    this.#limitMs = limitMs;
    this.#remainingMs = limitMs;
    this.#clientSignal = clientSignal;
    clientSignal.addEventListener("abort", this.#onCancel);
    if (clientSignal.aborted) this.#onCancel();
    this.#start();
  }

  readonly #onCancel = (): void => {
    this.#controller.abort(new McpFault({ kind: "cancelled", sent: "no" }));
  };

  /** How much of the time is left, while it does not stand still. */
  get remainingMs(): number {
    return this.#remainingMs - (Date.now() - this.#startedAt);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Throws where the call is over, before anything was sent. */
  throwIfEnded(): void {
    this.signal.throwIfAborted();
  }

  /** Waits for the work; rejects when the time is over before it, or the client has cancelled. */
  async race<T>(work: Promise<T>): Promise<T> {
    const { signal } = this;
    let onAbort = () => {};
    const aborted = new Promise<never>((_resolve, reject) => {
      onAbort = () => {
        reject(signal.reason as McpFault);
      };
    });
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort);
    return Promise.race([work, aborted]).finally(() => {
      signal.removeEventListener("abort", onAbort);
    });
  }

  /** Stops the clock; the function that is returned starts it again. It runs only when nobody holds it any more. */
  pause(): () => void {
    if (this.#pauseCount === 0) {
      clearTimeout(this.#timer ?? null);
      this.#remainingMs -= Date.now() - this.#startedAt;
    }
    this.#pauseCount += 1;
    return () => {
      this.#pauseCount -= 1;
      if (this.#pauseCount === 0 && !this.#isEnded) this.#start();
    };
  }

  end(): void {
    this.#isEnded = true;
    clearTimeout(this.#timer ?? null);
    this.#clientSignal.removeEventListener("abort", this.#onCancel);
  }

  #start(): void {
    this.#startedAt = Date.now();
    this.#timer = setTimeout(
      () => {
        this.#controller.abort(
          new McpFault({ kind: "timeout", stage: "total", afterMs: this.#limitMs, sent: "perhaps" }),
        );
      },
      Math.max(0, this.#remainingMs),
    );
  }
}
