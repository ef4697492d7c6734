// Owns giving up small things that are waited for too long, without a timer for each, which would cost more than most of
// them do: one invocation keeps watch for all of an isolate, and whoever waits next looks, too. Refuses to watch when
// nothing waits and nobody comes.

export interface WatchedDeadline {
  /** Milliseconds since the epoch, `LONGEST_MS` from now at most. */
  readonly due: number;
  /**
   * Called from another invocation, whichever keeps watch or comes next. It may settle a promise that its own awaits:
   * the platform goes on there, or nowhere when that one has ended.
   */
  readonly onTimeout: () => void;
}

/** An invocation, which lives on after its answer for what it is given here: 30 s, also when its client has left. */
export interface WaitUntilContext {
  waitUntil(work: Promise<unknown>): void;
}

/** For so long may anything wait. */
export const MAX_DEADLINE_MS = 10_000;
/** What began in the first half of a watch is over when it ends; who comes in the second begins another. */
const WATCH_MS = 2 * MAX_DEADLINE_MS;
const TICK_MS = 1000;
/** Things that are due one after the other share a tick. */
const MIN_TICK_MS = 250;
/** A watch that has not ticked for so long is gone with its invocation. */
const SILENT_MS = 3 * TICK_MS;
/** More is left to whoever looks next: nobody pays for a flood alone. */
const EXPIRE_BATCH = 500;

export class DeadlineWatcher {
  /** In the order in which they came, which is about that in which they are due. */
  readonly #deadlines = new Set<WatchedDeadline>();
  /** Nobody is due before. */
  #nextDue = Infinity;
  #watchCount = 0;
  /** Who comes from then on begins a watch. */
  #renewAt = 0;
  #hasNew = false;

  add(deadline: WatchedDeadline, now: number, context: WaitUntilContext): void {
    this.expireDue(now);
    this.#deadlines.add(deadline);
    if (deadline.due < this.#nextDue) this.#nextDue = deadline.due;
    this.#hasNew = true;
    if (isPast(this.#renewAt, now)) context.waitUntil(this.#watch());
  }

  /** For whoever wants room without waiting here. */
  expireDue(now: number): void {
    if (isPast(this.#nextDue, now) && this.#deadlines.size > 0) this.#expire(now);
  }

  remove(deadline: WatchedDeadline): void {
    this.#deadlines.delete(deadline);
  }

  /** Rejects when `work` takes longer than `milliseconds`, `LONGEST_MS` at most. */
  withTimeout<T>(work: Promise<T>, milliseconds: number, context: WaitUntilContext): Promise<T> {
    return new Promise((resolve, reject) => {
      const now = Date.now();
      const onTimeout = () => reject(new Error(`it gave no answer within ${milliseconds} ms`));
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
    // By its own ticks: the clock may be set back.
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

/** Also where the clock was set back meanwhile: nobody can say how long it would be otherwise. */
function isPast(due: number, now: number): boolean {
  return now >= due || due - now > WATCH_MS;
}

/** Of this isolate. Bound: what requests under way wait for, WATCH_MS at most. */
export const DEADLINES = new DeadlineWatcher();
