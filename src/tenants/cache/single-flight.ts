// Requests of an isolate that need the same answer share one call for it. The promise of another invocation settles only as long as that
// one lives: each waiter has a timer of its own, and then a call of its own.

/**
 * How long a waiter leaves it to another invocation before it calls itself: the platform may drop an invocation in the
 * middle of its call, and then nothing settles.
 */
const PATIENCE_MS = 1000;

interface Call<T> {
  readonly answer: Promise<T>;
  /** Set by the request that made it. A rejection without this is the platform's: that request has ended, and the answer is unknown. */
  hasFailed: boolean;
}

/** Calls for one answer: the first, and those that were made in its place. */
type Flight<T> = Call<T>[];

/** The calls for one thing. */
export class SingleFlight<T> {
  #flight: Flight<T> | undefined;
  /** Without a call yet: what waits for the one under way to be over. */
  #next: Flight<T> | undefined;

  get isRunning(): boolean {
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
    await outcomeOf(before).catch(() => {});
    return next.length === 0 ? this.#begin(next, call) : this.#join(next, call);
  }

  #begin(flight: Flight<T>, call: () => Promise<T>): Promise<T> {
    this.#flight = flight;
    if (this.#next === flight) this.#next = undefined;
    return this.#call(flight, call);
  }

  async #join(flight: Flight<T>, call: () => Promise<T>): Promise<T> {
    for (;;) {
      const last = flight.at(-1);
      const outcome = await outcomeOf(flight);
      if (outcome) return outcome.value;
      if (flight.at(-1) === last) return this.#call(flight, call);
    }
  }

  /** The first call of the flight to settle counts. */
  async #call(flight: Flight<T>, call: () => Promise<T>): Promise<T> {
    const mine: Call<T> = { answer: call(), hasFailed: false };
    // The first handler of the promise, so it runs before those of the waiters.
    mine.answer.catch(() => {
      mine.hasFailed = true;
    });
    flight.push(mine);
    try {
      for (;;) {
        // Also those that began later: this one may hang.
        const outcome = await outcomeOf(flight);
        if (outcome) return outcome.value;
      }
    } finally {
      if (this.#flight === flight) this.#flight = undefined;
    }
  }
}

interface Outcome<T> {
  readonly value: T;
}

/** undefined: there is no answer yet, or never. Rejects as the first call that fails. */
async function outcomeOf<T>(flight: Flight<T>): Promise<Outcome<T> | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), PATIENCE_MS);
  });
  try {
    return await Promise.race([firstOf(flight), late]);
  } finally {
    clearTimeout(timer ?? null);
  }
}

/** undefined: all requests that made the calls have ended. */
function firstOf<T>(flight: Flight<T>): Promise<Outcome<T> | undefined> {
  return new Promise((resolve, reject) => {
    let left = flight.length;
    const drop = () => {
      left -= 1;
      if (left <= 0) resolve(undefined);
    };
    if (left === 0) drop();
    for (const one of flight) {
      one.answer.then(
        (value) => resolve({ value }),
        (error: unknown) => (one.hasFailed ? reject(error as Error) : drop()),
      );
    }
  });
}
