// Owns the one alarm of an object: it rings at the earliest time that was asked for, and is set as seldom as possible.

export interface Wake {
  /** Asks for the alarm at this time, milliseconds since the epoch. An earlier one stands: setting writes a row. */
  at(time: number): void;
  /** Call it when no alarm is set any more: it rang, or everything stored was deleted. */
  clear(): void;
  /**
   * For what several have the one alarm ring for: none is set before all of them are done. One that is set takes the place of
   * the one that rings: were the instance to end in the middle, nobody would ring for the others.
   */
  ring(work: () => Promise<void>): Promise<void>;
  transaction<T>(work: () => T): T;
}

/** The platform refuses other times; what is due then is asked for again when it rings. */
const [EARLIEST, LATEST] = [1, Date.UTC(2100, 0)];

export function createWake(ctx: DurableObjectState): Wake {
  const { storage } = ctx;
  let set: number | undefined;
  let isKnown = false;
  let isRinging = false;
  const at = (asked: number) => {
    const time = Math.min(Math.max(asked, EARLIEST), LATEST);
    if (set !== undefined && set <= time) return;
    set = time;
    if (isKnown && !isRinging) void storage.setAlarm(time);
  };
  // An alarm outlives the instance that set it. Until it is known, a time asked for waits, lest it replace an earlier.
  void ctx.blockConcurrencyWhile(async () => {
    const stored = (await storage.getAlarm()) ?? undefined;
    const wanted = set;
    set = stored;
    isKnown = true;
    if (wanted !== undefined) at(wanted);
  });
  return {
    at,
    clear: () => {
      set = undefined;
      isRinging = false;
    },
    ring: async (work) => {
      isRinging = true;
      await work();
      // Unless everything was deleted meanwhile.
      if (isRinging && set !== undefined) void storage.setAlarm(set);
      isRinging = false;
    },
    // When the work fails, an alarm that it set is rolled back too, so `set` must be what it was.
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
