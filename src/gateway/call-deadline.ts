// The time limit of one call to an upstream, over all its requests. Waiting for a person's answer does not count.

import type { AnswerLimits } from "../mcp-client/answer-limits.ts";
import { McpFault } from "../mcp-client/fault.ts";
import type { AbortSignalLike } from "../protocol/mcp-request.ts";
import type { Era } from "../protocol/revisions.ts";

/** The deadline pauses while a question is open. A call whose question is never answered ends after this time. */
const MAX_QUESTION_MS = 3_600_000;

/** The deadline bounds the whole call, so single requests need no timers of their own. */
const LIMITS_BY_ERA: Readonly<Record<Era, Partial<AnswerLimits>>> = {
  "2025": { headersMs: Infinity, silenceMs: Infinity, totalMs: MAX_QUESTION_MS },
  "2026": { headersMs: Infinity, silenceMs: Infinity, totalMs: Infinity },
};

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

  /** Valid while the clock is running. */
  get remainingMs(): number {
    return this.#remainingMs - (Date.now() - this.#startedAt);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Throws if the call has ended, before anything is sent. */
  throwIfEnded(): void {
    this.signal.throwIfAborted();
  }

  /** Waits for the work. Rejects if the deadline passes first, or if the client cancels. */
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

  /**
   * Pauses the clock and returns a function that resumes it. With several pauses, the clock runs again when all have
   * resumed.
   */
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
