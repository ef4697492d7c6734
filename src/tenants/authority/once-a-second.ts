// Owns what is done where KV fails, or refuses a write of a key that was written within the same second. Whoever stores something
// sees to it that the latter does not happen; a write and a deletion that chance brought together are tried again here.
// https://developers.cloudflare.com/kv/platform/limits/

const A_SECOND_MS = 1100;
const FAILED_MS = 100;
const TRIES = 3;

export function isTooSoon(error: unknown): boolean {
  return error instanceof Error && /\b429\b/.test(error.message);
}

/** For work that may be done twice. Rejects as KV does, where it does so three times. */
export async function onceASecond<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (tries === TRIES) throw error;
      await scheduler.wait(isTooSoon(error) ? A_SECOND_MS : FAILED_MS);
    }
  }
}
