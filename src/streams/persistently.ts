// Owns asking an object again that was just moved or evicted. A stub belongs to one request: each try makes its own.

import { isOverloaded } from "../tenants/isolate/outage.ts";

const RETRY_MS = [20, 150, 600] as const;

/** For what may be said twice: an object that was evicted in the middle may have heard it or not. */
export async function persistently<T>(work: () => Promise<T>): Promise<T> {
  for (const wait of RETRY_MS) {
    try {
      return await work();
    } catch (error) {
      if (isOverloaded(error)) throw error;
      await scheduler.wait(wait);
    }
  }
  return work();
}
