// Owns the one alarm of an object: the earliest time that anybody asked for, set as seldom as possible.

export interface Wake {
  /** Each setAlarm is a row written: an earlier or equal alarm stands. */
  at(time: number): void;
  /** No alarm is set any more: it rang, or went with everything else. */
  clear(): void;
  transaction<T>(work: () => T): T;
}

export function createWake(ctx: DurableObjectState): Wake {
  const { storage } = ctx;
  let set: number | undefined;
  let isKnown = false;
  let early = Infinity;
  const at = (time: number) => {
    if (!isKnown) early = Math.min(early, time);
    else if (set === undefined || set > time) {
      set = time;
      void storage.setAlarm(time);
    }
  };
  // An alarm outlives the instance that set it: a later one must not replace it, nor one that is asked for before it is known.
  void ctx.blockConcurrencyWhile(async () => {
    set = (await storage.getAlarm()) ?? undefined;
    isKnown = true;
    if (early < Infinity) at(early);
  });
  return {
    at,
    clear: () => {
      set = undefined;
    },
    // An alarm set by work that failed is rolled back with it.
    transaction: (work) => {
      const before = set;
      try {
        return storage.transactionSync(work);
      } catch (error) {
        set = before;
        throw error;
      }
    },
  };
}
