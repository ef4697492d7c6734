// Owns giving up small things that are waited for too long, without a timer for each, which would cost more than most of
// them do: one invocation keeps watch for all of an isolate, and whoever waits next looks, too. Refuses to watch when
// nothing waits and nobody comes.

export interface Waiting {
  /** Milliseconds since the epoch, `LONGEST_MS` from now at most. */
  readonly due: number;
  /**
   * Called from another invocation, whichever keeps watch or comes next. It may settle a promise that its own awaits:
   * the platform goes on there, or nowhere when that one has ended.
   */
  readonly giveUp: () => void;
}

/** An invocation, which lives on after its answer for what it is given here: 30 s, also when its client has left. */
export interface Lasting {
  waitUntil(work: Promise<unknown>): void;
}

/** For so long may anything wait. */
export const LONGEST_MS = 10_000;
/** What began in the first half of a watch is over when it ends; who comes in the second begins another. */
const WATCH_MS = 2 * LONGEST_MS;
const TICK_MS = 1000;
/** Things that are due one after the other share a tick. */
const LEAST_TICK_MS = 250;
/** A watch that has not ticked for so long is gone with its invocation. */
const SILENT_MS = 3 * TICK_MS;
/** More is left to whoever looks next: nobody pays for a flood alone. */
const MOST_AT_ONCE = 500;

export class Overdue {
  /** In the order in which they came, which is about that in which they are due. */
  readonly #waiting = new Set<Waiting>();
  /** Nobody is due before. */
  #first = Infinity;
  #watches = 0;
  /** Who comes from then on begins a watch. */
  #renewAt = 0;
  #hasCome = false;

  begin(one: Waiting, now: number, by: Lasting): void {
    this.look(now);
    this.#waiting.add(one);
    if (one.due < this.#first) this.#first = one.due;
    this.#hasCome = true;
    if (isOver(this.#renewAt, now)) by.waitUntil(this.#watch());
  }

  /** For whoever wants room without waiting here. */
  look(now: number): void {
    if (isOver(this.#first, now) && this.#waiting.size > 0) this.#giveUp(now);
  }

  end(one: Waiting): void {
    this.#waiting.delete(one);
  }

  /** Rejects when `work` takes longer than `milliseconds`, `LONGEST_MS` at most. */
  inTime<T>(work: Promise<T>, milliseconds: number, by: Lasting): Promise<T> {
    return new Promise((resolve, reject) => {
      const now = Date.now();
      const giveUp = () => reject(new Error(`it gave no answer within ${milliseconds} ms`));
      const one = { due: now + milliseconds, giveUp };
      this.begin(one, now, by);
      const ended =
        <V>(settle: (value: V) => void) =>
        (value: V) => {
          this.end(one);
          settle(value);
        };
      work.then(ended(resolve), ended(reject));
    });
  }

  async #watch(): Promise<void> {
    const mine = (this.#watches += 1);
    const isYoungest = () => mine === this.#watches;
    // By its own ticks: the clock may be set back.
    let age = 0;
    do {
      const now = Date.now();
      if (isYoungest()) {
        this.#renewAt = now + Math.min(LONGEST_MS - age, SILENT_MS);
        this.#hasCome = false;
      }
      const pause = Math.min(TICK_MS, Math.max(LEAST_TICK_MS, this.#first - now));
      await ticked(pause);
      age += pause;
      this.look(Date.now());
    } while (age < WATCH_MS && (this.#waiting.size > 0 || (this.#hasCome && isYoungest())));
    if (isYoungest()) this.#renewAt = 0;
  }

  #giveUp(now: number): void {
    let left = MOST_AT_ONCE;
    this.#first = Infinity;
    for (const one of this.#waiting) {
      if (left === 0 || !isOver(one.due, now)) {
        this.#first = one.due;
        return;
      }
      left -= 1;
      this.#waiting.delete(one);
      one.giveUp();
    }
  }
}

function ticked(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
  });
}

/** Also where the clock was set back meanwhile: nobody can say how long it would be otherwise. */
function isOver(due: number, now: number): boolean {
  return now >= due || due - now > WATCH_MS;
}

/** Of this isolate. Bound: what requests under way wait for, WATCH_MS at most. */
export const OVERDUE = new Overdue();
