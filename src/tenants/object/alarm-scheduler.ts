// Shares the one alarm of an object: it fires at the earliest requested time, and is set as rarely as possible.

export interface AlarmScheduler {
  /**
   * Requests the alarm at this time, in milliseconds since the epoch. An earlier alarm stays: setting one writes a row.
   */
  schedule(time: number): void;
  /** Call this when no alarm is set any more: it fired, or all storage was deleted. */
  clear(): void;
  /**
   * Runs work that several domains do on one alarm. No alarm is set before all of them are done. A new alarm would
   * replace the one that is firing. If the instance ended in the middle, no alarm would fire for the others.
   */
  runAlarm(work: () => Promise<void>): Promise<void>;
  transaction<T>(work: () => T): T;
}

/**
 * The platform refuses times outside this range. Work that is due outside it is requested again when the alarm fires.
 */
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
  // An alarm outlives the instance that set it. Until the stored alarm is known, a request waits, so that it does not
  // replace an earlier one.
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
      // Skipped if all storage was deleted meanwhile.
      if (isRunning && scheduled !== undefined) void storage.setAlarm(scheduled);
      isRunning = false;
    },
    // If the work fails, an alarm that it set is rolled back too. So `scheduled` must get its old value back.
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
