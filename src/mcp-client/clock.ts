// Time and randomness of the client, injected so that tests need not wait.

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** From 0 up to, but not including, 1. */
  random(): number;
  /** Runs the callback once, later. The returned function cancels it. */
  schedule(milliseconds: number, run: () => void): () => void;
}

/** Platforms fire a longer timer at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export const SYSTEM_CLOCK: Clock = {
  now: () => Date.now(),
  random: () => Math.random(),
  schedule: (milliseconds, run) => {
    const timer = setTimeout(run, Math.min(milliseconds, MAX_TIMER_MS));
    return () => clearTimeout(timer);
  },
};

/** Resolves to false if the signal aborts before the time is over. */
export async function pause(clock: Clock, milliseconds: number, signal: AbortSignal | undefined): Promise<boolean> {
  if (signal?.aborted) return false;
  return new Promise((resolve) => {
    const stop = clock.schedule(milliseconds, () => {
      signal?.removeEventListener("abort", interrupt);
      resolve(true);
    });
    function interrupt(): void {
      stop();
      resolve(false);
    }
    signal?.addEventListener("abort", interrupt);
  });
}
