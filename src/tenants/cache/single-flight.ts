// Concurrent requests of an isolate share one call for the same answer. A promise of another invocation settles only
// while that invocation lives. So each waiter has its own timer, and then makes its own call.

/**
 * How long a waiter relies on another invocation before it makes its own call. The platform may drop an invocation in
 * the middle of its call, and then the promise never settles.
 */
const PATIENCE_MS = 1000;

interface Call<T> {
  readonly answer: Promise<T>;
  /**
   * Set by the request that made the call. A rejection without this flag is the platform's: that request ended, and the
   * outcome is unknown.
   */
  hasFailed: boolean;
}

/** The calls for one answer: the first, and those made in its place. */
type Flight<T> = Call<T>[];

export class SingleFlight<T> {
  #flight: Flight<T> | undefined;
  /** A flight without a call yet. It waits for the current one to finish. */
  #next: Flight<T> | undefined;

  get isRunning(): boolean {
    return this.#flight !== undefined;
  }

  /**
   * Joins the current call, or starts one. Rejects as the call does. The call must settle while its invocation lives.
   */
  run(call: () => Promise<T>): Promise<T> {
    return this.#flight ? this.#join(this.#flight, call) : this.#begin([], call);
  }

  /** Joins only a call that starts from now on: the current one may have been answered before this request arrived. */
  async runNext(call: () => Promise<T>): Promise<T> {
    const before = this.#flight;
    if (!before) return this.run(call);
    const next = (this.#next ??= []);
    // The requests that share that call get its error.
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

  /** The first call of the flight to settle decides. */
  async #call(flight: Flight<T>, call: () => Promise<T>): Promise<T> {
    const mine: Call<T> = { answer: call(), hasFailed: false };
    // This is the promise's first handler, so it runs before those of the waiters.
    mine.answer.catch(() => {
      mine.hasFailed = true;
    });
    flight.push(mine);
    try {
      for (;;) {
        // Includes calls that started later: this one may hang.
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

/** undefined: there is no answer yet, or there will be none. Rejects as the first call that fails. */
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
