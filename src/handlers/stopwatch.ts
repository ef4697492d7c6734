// Measures how long work ran. Overlapping runs count once, until the last of them ends.

export class Stopwatch {
  #running = 0;
  #since = 0;
  #took = 0;

  /** Milliseconds. */
  get elapsed(): number {
    return this.#took + (this.#running > 0 ? Date.now() - this.#since : 0);
  }

  async run<T>(work: () => T | Promise<T>): Promise<T> {
    if (this.#running === 0) this.#since = Date.now();
    this.#running += 1;
    try {
      return await work();
    } finally {
      const now = this.elapsed;
      this.#running -= 1;
      if (this.#running === 0) this.#took = now;
    }
  }
}
