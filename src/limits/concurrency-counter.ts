// Counts a caller's concurrent requests. The platform may drop an invocation without notice, so old requests stop
// counting. Otherwise dropped requests would lock a caller out.

/** Requests that began in the last two to three windows count. */
const WINDOW_MS = 60_000;
const WINDOWS = 3;

export class ConcurrencyCounter {
  readonly #counts = [0, 0, 0];
  #window = 0;

  /** Returns a ticket for `release`; undefined: the limit is reached. */
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
    // If the clock was set back a little, current requests keep counting until it catches up.
    const ahead = window - this.#window;
    if (ahead <= 0 && ahead > -WINDOWS) return;
    if (Math.abs(ahead) >= WINDOWS) this.#counts.fill(0);
    else for (let next = this.#window + 1; next <= window; next += 1) this.#counts[next % WINDOWS] = 0;
    this.#window = window;
  }
}
