// Requests of an isolate that need the same answer share one call for it. The promise of another invocation may never settle:
// each waiter has a timer of its own, and then a call of its own.

/**
 * How long a waiter leaves it to another invocation before it calls itself: the platform may drop an invocation in the
 * middle of its call, and then nothing settles.
 */
const PATIENCE_MS = 1000;

/** Calls for one answer, the first of them the one that others wait for, the rest made in its place. The first to settle counts. */
type Flight<T> = Promise<T>[];

/** The calls for one thing. */
export class SingleFlight<T> {
  #flight: Flight<T> | undefined;
  /** Without a call yet: what waits for the one under way to be over. */
  #next: Flight<T> | undefined;

  get isUnderWay(): boolean {
    return this.#flight !== undefined;
  }

  /** Shares the call under way, or makes it. Rejects as the call does, which has to settle as long as its invocation lives. */
  run(call: () => Promise<T>): Promise<T> {
    return this.#flight ? this.#join(this.#flight, call) : this.#begin([], call);
  }

  /** Shares only a call that begins from now on: one under way may have been answered before the request came. */
  async runNext(call: () => Promise<T>): Promise<T> {
    const before = this.#flight;
    if (!before) return this.run(call);
    const next = (this.#next ??= []);
    // Whoever shares that call hears of its failure.
    await soon(before).catch(() => {});
    return next.length === 0 ? this.#begin(next, call) : this.#join(next, call);
  }

  #begin(flight: Flight<T>, call: () => Promise<T>): Promise<T> {
    this.#flight = flight;
    if (this.#next === flight) this.#next = undefined;
    return this.#call(flight, call);
  }

  async #join(flight: Flight<T>, call: () => Promise<T>): Promise<T> {
    for (;;) {
      const calls = flight.length;
      const answer = await soon(flight);
      if (answer) return answer.value;
      if (flight.length === calls) return this.#call(flight, call);
    }
  }

  async #call(flight: Flight<T>, call: () => Promise<T>): Promise<T> {
    flight.push(call());
    try {
      return await Promise.race(flight);
    } finally {
      if (this.#flight === flight) this.#flight = undefined;
    }
  }
}

/** undefined: there is no answer yet. Rejects as the first call that settles. */
async function soon<T>(flight: Flight<T>): Promise<{ readonly value: T } | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), PATIENCE_MS);
  });
  const answered = Promise.race(flight).then((value) => ({ value }));
  try {
    return await Promise.race([answered, late]);
  } finally {
    clearTimeout(timer ?? null);
  }
}
