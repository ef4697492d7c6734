// Retries KV operations. KV fails at times, and refuses a second write of a key within one second. Callers avoid that
// themselves; this covers a write and a deletion that coincide.
// https://developers.cloudflare.com/kv/platform/limits/

const KV_WRITE_INTERVAL_MS = 1100;
const RETRY_MS = 100;
const MAX_TRIES = 3;

function isKvRateLimited(error: unknown): boolean {
  return error instanceof Error && /\b429\b/.test(error.message);
}

/** For work that may run twice. Rejects with KV's error after three failures. */
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
