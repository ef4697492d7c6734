// Owns calling an object again that was just moved or evicted. The work it is given makes a new stub for each try.

import { AppError } from "../protocol/app-error.ts";
import { isOverloaded } from "../tenants/cache/retry-if-idempotent.ts";

const RETRY_MS = [20, 150, 600] as const;

/**
 * Tries `work` up to four times. Only for work that may happen twice: an object evicted in the middle may have done it
 * or not. An overloaded object is not asked again, or after a second by who `isPatient`: nobody waits there. Neither is one that
 * said which limit was met. Rejects with the error of the last try.
 */
export async function withRetries<T>(work: () => Promise<T>, retryOverloaded = false): Promise<T> {
  for (const wait of RETRY_MS) {
    try {
      return await work();
    } catch (error) {
      const isBusy = isOverloaded(error);
      if ((isBusy && !retryOverloaded) || (error instanceof AppError && error.met)) throw error;
      await scheduler.wait(isBusy ? 1000 : wait);
    }
  }
  return work();
}
