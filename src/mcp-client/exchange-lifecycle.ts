// Decides when one exchange ends and why: everything is read, a time limit has passed, or the caller aborted. Leaves no
// timer or listener behind, and works on platforms whose `fetch` ignores an abort.

import type { Clock } from "./clock.ts";
import { McpFault, type Fault, type Sent } from "./fault.ts";
import type { AnswerLimits } from "./answer-limits.ts";

const NO_TIMER = () => {};

export class ExchangeLifecycle {
  /** How far the request has come. Every fault of this exchange reports it. */
  sent: Sent = "no";
  readonly #clock: Clock;
  readonly #limits: AnswerLimits;
  readonly #caller: AbortSignal | undefined;
  readonly #controller = new AbortController();
  readonly #stopTotal: () => void;
  #reason: McpFault | undefined;
  #endCallback: (() => void) | undefined;
  #isEnded = false;
  #rejectStep: ((reason: McpFault) => void) | undefined;

  constructor(clock: Clock, limits: AnswerLimits, caller: AbortSignal | undefined) {
    this.#clock = clock;
    this.#limits = limits;
    this.#caller = caller;
    this.#stopTotal = this.#timer("total", limits.totalMs);
    caller?.addEventListener("abort", this.#onAbort);
    if (caller?.aborted === true) this.#onAbort();
  }

  /** For `fetch`, so that it stops when the exchange ends. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Waits until the step is done or the exchange ends. `onLate` receives a result that arrives afterwards. */
  race<T>(stage: "headers" | "silence", step: () => Promise<T>, onLate?: (value: T) => void): Promise<T> {
    if (this.#reason) return Promise.reject(this.#reason);
    const stepping = step();
    const stopTimer = this.#timer(stage, this.#limits[`${stage}Ms`]);
    // Racing all steps against one shared promise would keep every result in memory until the exchange ends.
    return new Promise<T>((resolve, reject) => {
      let isOver = false;
      const settleOnce = (): boolean => {
        if (isOver) return false;
        isOver = true;
        this.#rejectStep = undefined;
        stopTimer();
        return true;
      };
      this.#rejectStep = (reason) => {
        if (settleOnce()) reject(reason);
      };
      stepping.then(
        (value) => {
          if (settleOnce()) resolve(value);
          else onLate?.(value);
        },
        (error: unknown) => {
          if (settleOnce()) reject(error);
        },
      );
    });
  }

  /** Throws if a limit or the caller has ended the exchange. */
  throwIfEnded(): void {
    if (this.#reason) throw this.#reason;
  }

  /**
   * Runs the callback once when the exchange ends. Only the last callback counts: each redirect hop is over before the
   * next begins.
   */
  readonly onEnd = (run: () => void): void => {
    if (this.#isEnded) run();
    else this.#endCallback = run;
  };

  /** Ends the exchange normally, after everything has been read. */
  end(): void {
    if (!this.#isEnded) this.#endCallback?.();
    this.#isEnded = true;
    this.#stopTotal();
    this.#caller?.removeEventListener("abort", this.#onAbort);
  }

  /** Ends the exchange early, because the rest is not wanted. */
  cancel(reason?: McpFault): void {
    this.end();
    this.#rejectStep?.(reason ?? new McpFault({ kind: "cancelled", sent: this.sent }));
    this.#controller.abort(reason);
  }

  readonly #onAbort = (): void => {
    // A caller may abort with a fault as the reason, such as its own time limit. Only this exchange knows what was
    // sent.
    const reason: unknown = this.#caller?.reason;
    this.#fail(
      reason instanceof McpFault ? { ...reason.fault, sent: this.sent } : { kind: "cancelled", sent: this.sent },
    );
  };

  #timer(stage: "headers" | "silence" | "total", afterMs: number): () => void {
    if (afterMs === Infinity) return NO_TIMER;
    return this.#clock.schedule(afterMs, () => this.#fail({ kind: "timeout", stage, afterMs, sent: this.sent }));
  }

  #fail(fault: Fault): void {
    this.#reason ??= new McpFault(fault);
    this.cancel(this.#reason);
  }
}
