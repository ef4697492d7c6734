// Deadlines for small waits without a timer for each, which would cost more than most of the waits. One invocation
// watches all deadlines of an isolate, and each new wait checks them too. Nothing watches while nothing waits.

export interface WatchedDeadline {
  /** Milliseconds since the epoch, at most `MAX_DEADLINE_MS` from now. */
  readonly due: number;
  /**
   * Runs in another invocation: the one that watches, or the next one that adds a deadline. It may settle a promise
   * that its own invocation awaits. The platform then continues there, unless that invocation has ended.
   */
  readonly onTimeout: () => void;
}

/** An invocation. It lives on after its response for the work given here: up to 30 s, even if its client has left. */
export interface WaitUntilContext {
  waitUntil(work: Promise<unknown>): void;
}

export const MAX_DEADLINE_MS = 10_000;
/** A wait that starts in the first half of a watch ends within it. A wait in the second half starts another watch. */
const WATCH_MS = 2 * MAX_DEADLINE_MS;
const TICK_MS = 1000;
/** Deadlines shortly after one another share a tick. */
const MIN_TICK_MS = 250;
/** A watch that has not ticked for this long ended with its invocation. */
const SILENT_MS = 3 * TICK_MS;
/** The rest is left to the next check, so that no single invocation pays for a flood. */
const EXPIRE_BATCH = 500;

export class DeadlineWatcher {
  /** In the order of arrival, which is roughly the order of their deadlines. */
  readonly #deadlines = new Set<WatchedDeadline>();
  /** No deadline is due before this time. */
  #nextDue = Infinity;
  #watchCount = 0;
  /** A deadline that is added from this time on starts a watch. */
  #renewAt = 0;
  #hasNew = false;

  add(deadline: WatchedDeadline, now: number, context: WaitUntilContext): void {
    this.expireDue(now);
    this.#deadlines.add(deadline);
    if (deadline.due < this.#nextDue) this.#nextDue = deadline.due;
    this.#hasNew = true;
    if (isPast(this.#renewAt, now)) context.waitUntil(this.#watch());
  }

  /** For callers that need room without waiting here. */
  expireDue(now: number): void {
    if (isPast(this.#nextDue, now) && this.#deadlines.size > 0) this.#expire(now);
  }

  remove(deadline: WatchedDeadline): void {
    this.#deadlines.delete(deadline);
  }

  /**
   * Rejects if `work` takes longer than `milliseconds`, which is at most `MAX_DEADLINE_MS`. The error names `callee`.
   */
  withTimeout<T>(work: Promise<T>, milliseconds: number, context: WaitUntilContext, callee: string): Promise<T> {
    return new Promise((resolve, reject) => {
      const now = Date.now();
      const onTimeout = () => reject(new Error(`${callee} gave no answer within ${milliseconds} ms`));
      const deadline = { due: now + milliseconds, onTimeout };
      this.add(deadline, now, context);
      const endWith =
        <V>(settle: (value: V) => void) =>
        (value: V) => {
          this.remove(deadline);
          settle(value);
        };
      work.then(endWith(resolve), endWith(reject));
    });
  }

  async #watch(): Promise<void> {
    const watch = (this.#watchCount += 1);
    const isYoungest = () => watch === this.#watchCount;
    // Measured in its own ticks, because the clock may be set back.
    let age = 0;
    do {
      const now = Date.now();
      if (isYoungest()) {
        this.#renewAt = now + Math.min(MAX_DEADLINE_MS - age, SILENT_MS);
        this.#hasNew = false;
      }
      const pause = Math.min(TICK_MS, Math.max(MIN_TICK_MS, this.#nextDue - now));
      await sleep(pause);
      age += pause;
      this.expireDue(Date.now());
    } while (age < WATCH_MS && (this.#deadlines.size > 0 || (this.#hasNew && isYoungest())));
    if (isYoungest()) this.#renewAt = 0;
  }

  #expire(now: number): void {
    let remaining = EXPIRE_BATCH;
    this.#nextDue = Infinity;
    for (const deadline of this.#deadlines) {
      if (remaining === 0 || !isPast(deadline.due, now)) {
        this.#nextDue = deadline.due;
        return;
      }
      remaining -= 1;
      this.#deadlines.delete(deadline);
      deadline.onTimeout();
    }
  }
}

function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
  });
}

/** Also true if the clock was set back: the remaining time is unknown then. */
function isPast(due: number, now: number): boolean {
  return now >= due || due - now > WATCH_MS;
}

/** One per isolate. Bound: the waits of current requests, WATCH_MS at most. */
export const DEADLINES = new DeadlineWatcher();
