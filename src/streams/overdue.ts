// Owns giving up small things that are waited for too long, without a timer for each, which would cost more than most of
// them do: whoever waits next looks at those before. Refuses to look when nobody comes: then nobody wants their room.

export interface Waiting {
  /** Milliseconds since the epoch. */
  readonly due: number;
  /**
   * Called from whichever invocation comes next. It may settle a promise that another invocation awaits: the platform
   * goes on there, or nowhere when that one has ended.
   */
  readonly giveUp: () => void;
}

export class Overdue {
  /** In the order in which they came, which is about that in which they are due. */
  readonly #waiting = new Set<Waiting>();
  /** Nobody is due before. */
  #first = Infinity;

  begin(one: Waiting, now: number): void {
    this.look(now);
    this.#waiting.add(one);
    if (one.due < this.#first) this.#first = one.due;
  }

  /** For whoever wants room without waiting here. */
  look(now: number): void {
    if (isOver(this.#first, now) && this.#waiting.size > 0) this.#giveUp(now);
  }

  end(one: Waiting): void {
    this.#waiting.delete(one);
  }

  #giveUp(now: number): void {
    this.#first = Infinity;
    for (const one of this.#waiting) {
      if (!isOver(one.due, now)) {
        this.#first = one.due;
        return;
      }
      this.#waiting.delete(one);
      one.giveUp();
    }
  }
}

/** Longer than anything waits. */
const FAR_MS = 120_000;

/** Also where the clock was set back meanwhile: nobody can say how long it would be otherwise. */
function isOver(due: number, now: number): boolean {
  return now >= due || due - now > FAR_MS;
}

/** Of this isolate. */
export const OVERDUE = new Overdue();
