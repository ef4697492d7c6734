// Owns what is done where KV fails, or refuses a write of a key that was written within the same second. Whoever stores something
// sees to it that the latter does not happen; a write and a deletion that chance brought together are tried again here.
// https://developers.cloudflare.com/kv/platform/limits/

const KV_WRITE_INTERVAL_MS = 1100;
const RETRY_MS = 100;
const MAX_TRIES = 3;

export function isKvRateLimited(error: unknown): boolean {
  return error instanceof Error && /\b429\b/.test(error.message);
}

/** For work that may be done twice. Rejects as KV does, where it does so three times. */
export async function retryKvWrite<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (tries === MAX_TRIES) throw error;
      await scheduler.wait(isKvRateLimited(error) ? KV_WRITE_INTERVAL_MS : RETRY_MS);
    }
  }
}
