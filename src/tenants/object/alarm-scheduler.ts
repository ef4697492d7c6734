// Owns the one alarm of an object: it rings at the earliest time that was asked for, and is set as seldom as possible.

export interface AlarmScheduler {
  /** Asks for the alarm at this time, milliseconds since the epoch. An earlier one stands: setting writes a row. */
  schedule(time: number): void;
  /** Call it when no alarm is set any more: it rang, or everything stored was deleted. */
  clear(): void;
  /**
   * For what several have the one alarm ring for: none is set before all of them are done. One that is set takes the place of
   * the one that rings: were the instance to end in the middle, nobody would ring for the others.
   */
  runAlarm(work: () => Promise<void>): Promise<void>;
  transaction<T>(work: () => T): T;
}

/** The platform refuses other times; what is due then is asked for again when it rings. */
const [EARLIEST, LATEST] = [1, Date.UTC(2100, 0)];

export function createAlarmScheduler(ctx: DurableObjectState): AlarmScheduler {
  const { storage } = ctx;
  let scheduled: number | undefined;
  let isKnown = false;
  let isRunning = false;
  const schedule = (requested: number) => {
    const time = Math.min(Math.max(requested, EARLIEST), LATEST);
    if (scheduled !== undefined && scheduled <= time) return;
    scheduled = time;
    if (isKnown && !isRunning) void storage.setAlarm(time);
  };
  // An alarm outlives the instance that set it. Until it is known, a time asked for waits, lest it replace an earlier.
  void ctx.blockConcurrencyWhile(async () => {
    const stored = (await storage.getAlarm()) ?? undefined;
    const requested = scheduled;
    scheduled = stored;
    isKnown = true;
    if (requested !== undefined) schedule(requested);
  });
  return {
    schedule,
    clear: () => {
      scheduled = undefined;
      isRunning = false;
    },
    runAlarm: async (work) => {
      isRunning = true;
      await work();
      // Unless everything was deleted meanwhile.
      if (isRunning && scheduled !== undefined) void storage.setAlarm(scheduled);
      isRunning = false;
    },
    // When the work fails, an alarm that it set is rolled back too, so `set` must be what it was.
    transaction: (work) => {
      const before = scheduled;
      try {
        return storage.transactionSync(work);
      } catch (error) {
        scheduled = before;
        throw error;
      }
    },
  };
}
