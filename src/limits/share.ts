// Owns how a daily limit is shared out: how many calls an isolate gets at once, and until when they are its own. Pure.
// What an isolate got counts as used. It gives back what it did not use in time; what an isolate takes along when it
// dies is lost for that day: rather too few calls are served than one too many.

/** How long what an isolate got is its own, from when it asked. Then it gives the rest back. */
export const SHARE_MS = 10_000;
const MOST_AT_ONCE = 100;
/** So many isolates could ask at once before the last call is reached. */
const PARTS = 20;
const DAY_MS = 86_400_000;

/** How many of the calls that are left an isolate gets: fewer the nearer the end is, one by one at last. */
export function shareOf(left: number, wanted: number): number {
  const batch = Math.max(1, Math.min(MOST_AT_ONCE, Math.floor(left / PARTS)));
  return Math.max(0, Math.min(left, Math.max(batch, wanted)));
}

/** The day of a limit is a day of UTC. */
export function dayOf(now: number): string {
  return new Date(now).toISOString().slice(0, 10);
}

export function untilTomorrowMs(now: number): number {
  return DAY_MS - (now % DAY_MS);
}

/** What an isolate holds of one daily limit. */
export class Share {
  left = 0;
  /** From then on `left` is not its own any more, milliseconds since the epoch. */
  until = 0;
  /** Of which day `left` is, as the authority counts days. */
  day = "";
  /** Served without having been asked for, where a limit need not be exact. */
  owed = 0;
  /** Until then the limit is known to be used up, and after it nothing is owed; 0: there was some left lately. */
  emptyUntil = 0;
  /** Until then somebody asks for more. */
  askedUntil = 0;

  /** Takes one call. `owing`: also one that nobody gave. */
  take(now: number, owing: boolean): boolean {
    if (now < this.until && this.left > 0) {
      this.left -= 1;
      return true;
    }
    if (owing && this.emptyUntil === 0) {
      this.owed += 1;
      return true;
    }
    return false;
  }

  /** Takes in what was given to an ask that was sent at `asked`. What is left of another day is lost. */
  receive(given: number, { day, asked }: { readonly day: string; readonly asked: number }): void {
    if (day !== this.day) this.left = 0;
    // All of it is given back at once, so with what is left of an earlier share it ends when that does.
    this.until = this.left > 0 ? Math.min(this.until, asked + SHARE_MS) : asked + SHARE_MS;
    this.day = day;
    this.left += given;
    this.emptyUntil = 0;
  }

  /** Empties it; gives what was not used. */
  drain(): number {
    const { left } = this;
    this.left = 0;
    return left;
  }
}
