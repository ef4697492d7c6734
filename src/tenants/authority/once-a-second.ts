// Owns what is done where KV refuses a write of a key that was written within the same second. Whoever stores something sees to it
// that this does not happen; a write and a deletion that chance brought together are tried again here.
// https://developers.cloudflare.com/kv/platform/limits/

const A_SECOND_MS = 1100;
const TRIES = 3;

export function isTooSoon(error: unknown): boolean {
  return error instanceof Error && /\b429\b/.test(error.message);
}

/** Rejects as KV does, where that is not because of the second. */
export async function onceASecond<T>(write: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await write();
    } catch (error) {
      if (tries === TRIES || !isTooSoon(error)) throw error;
      await scheduler.wait(A_SECOND_MS);
    }
  }
}
