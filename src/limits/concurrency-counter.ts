// Owns counting what a caller has running at once. The platform may drop an invocation without a word, so what began
// long ago counts no more: nobody is locked out by calls that never said that they ended. Pure.

/** What began in the last two to three of these counts. */
const WINDOW_MS = 60_000;
const WINDOWS = 3;

export class ConcurrencyCounter {
  readonly #counts = [0, 0, 0];
  #window = 0;

  /** A ticket for `end`; undefined: as many are running as may. */
  acquire(limit: number, now: number): number | undefined {
    this.#advance(Math.floor(now / WINDOW_MS));
    if (this.#total() >= limit) return undefined;
    this.#add(this.#window, 1);
    return this.#window;
  }

  release(ticket: number): void {
    if (ticket > this.#window - WINDOWS && ticket <= this.#window) this.#add(ticket, -1);
  }

  #add(window: number, count: number): void {
    const at = window % WINDOWS;
    this.#counts[at] = (this.#counts[at] ?? 0) + count;
  }

  #total(): number {
    return this.#counts.reduce((sum, count) => sum + count, 0);
  }

  #advance(window: number): void {
    // Where the clock was set back by little, what runs counts on until it is there again.
    const ahead = window - this.#window;
    if (ahead <= 0 && ahead > -WINDOWS) return;
    if (Math.abs(ahead) >= WINDOWS) this.#counts.fill(0);
    else for (let next = this.#window + 1; next <= window; next += 1) this.#counts[next % WINDOWS] = 0;
    this.#window = window;
  }
}
