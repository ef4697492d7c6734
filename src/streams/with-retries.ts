// Retries a call to an object that was moved or evicted. The work makes a new stub for each attempt.

import { AppError } from "../protocol/app-error.ts";
import { isOverloaded } from "../tenants/cache/retry-if-idempotent.ts";

const RETRY_MS = [20, 150, 600] as const;

/**
 * Tries `work` up to four times. Use it only for work that may run twice: an object that was evicted in the middle may
 * have done it or not. An overloaded object is not called again. With `retryOverloaded` it is called again after a
 * second, for work that no caller waits for. An error that names an exceeded limit is not retried. Rejects with the
 * error of the last attempt.
 */
export async function withRetries<T>(work: () => Promise<T>, retryOverloaded = false): Promise<T> {
  for (const wait of RETRY_MS) {
    try {
      return await work();
    } catch (error) {
      const isBusy = isOverloaded(error);
      if ((isBusy && !retryOverloaded) || (error instanceof AppError && error.exceeded)) throw error;
      await scheduler.wait(isBusy ? 1000 : wait);
    }
  }
  return work();
}
