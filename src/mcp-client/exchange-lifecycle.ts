// Owns when one exchange ends and why: all is read, a limit of time has passed, or the caller's signal came.
// Refuses to leave a timer or a listener behind, and to depend on a platform that reacts to an abort.

import type { Clock } from "./clock.ts";
import { McpFault, type Fault, type Sent } from "./fault.ts";
import type { AnswerLimits } from "./answer-limits.ts";

const NO_TIMER = () => {};

export class ExchangeLifecycle {
  /** How far the request has come by now; every fault of this exchange says so. */
  sent: Sent = "no";
  readonly #clock: Clock;
  readonly #limits: AnswerLimits;
  readonly #caller: AbortSignal | undefined;
  readonly #controller = new AbortController();
  readonly #stopTotal: () => void;
  #reason: McpFault | undefined;
  #endCallback: (() => void) | undefined;
  #isEnded = false;
  /** Rejects the step that is under way. */
  #rejectStep: ((reason: McpFault) => void) | undefined;

  constructor(clock: Clock, limits: AnswerLimits, caller: AbortSignal | undefined) {
    this.#clock = clock;
    this.#limits = limits;
    this.#caller = caller;
    this.#stopTotal = this.#timer("total", limits.totalMs);
    caller?.addEventListener("abort", this.#onAbort);
    if (caller?.aborted === true) this.#onAbort();
  }

  /** For `fetch`, so that it stops when nobody waits any more. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Waits for one step: until it is done, or the exchange ends before. `late` gets what came when nobody waited for it. */
  race<T>(stage: "headers" | "silence", step: () => Promise<T>, onLate?: (value: T) => void): Promise<T> {
    if (this.#reason) return Promise.reject(this.#reason);
    const stepping = step();
    const stopTimer = this.#timer(stage, this.#limits[`${stage}Ms`]);
    // Racing each step against one promise for all of them would keep every result in memory until the exchange ends.
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

  /** Runs it once, when the exchange ends. The last one alone: what a redirect takes is over before the next begins. */
  readonly onEnd = (run: () => void): void => {
    if (this.#isEnded) run();
    else this.#endCallback = run;
  };

  /** Ends the exchange in good order, because everything has been read. */
  end(): void {
    if (!this.#isEnded) this.#endCallback?.();
    this.#isEnded = true;
    this.#stopTotal();
    this.#caller?.removeEventListener("abort", this.#onAbort);
  }

  /** Ends the exchange early, because nobody wants the rest. */
  cancel(reason?: McpFault): void {
    this.end();
    this.#rejectStep?.(reason ?? new McpFault({ kind: "cancelled", sent: this.sent }));
    this.#controller.abort(reason);
  }

  readonly #onAbort = (): void => {
    // A caller may abort with a fault as the reason, such as a limit of its own. Only this exchange knows what it sent.
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
