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
  const at = (time: number) => {
    if (set !== undefined && set <= time) return;
    set = time;
    if (isKnown) void storage.setAlarm(time);
  };
  // An alarm outlives the instance that set it: a later one must not replace it, though it is asked for at once.
  void ctx.blockConcurrencyWhile(async () => {
    const stored = (await storage.getAlarm()) ?? undefined;
    const asked = set;
    set = stored;
    isKnown = true;
    if (asked !== undefined) at(asked);
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
