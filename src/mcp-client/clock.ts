// Owns what the client knows of time and chance. Whoever makes a client gives it a clock, so that tests do not have to
// wait. Refuses timers that cannot be taken back.

export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** From 0 up to, but not including, 1. */
  random(): number;
  /** Runs it once, later; the function that is returned takes that back. */
  schedule(milliseconds: number, run: () => void): () => void;
}

/** Platforms fire a timer that is longer than this at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export const SYSTEM_CLOCK: Clock = {
  now: () => Date.now(),
  random: () => Math.random(),
  schedule: (milliseconds, run) => {
    const timer = setTimeout(run, Math.min(milliseconds, MAX_TIMER_MS));
    return () => clearTimeout(timer);
  },
};

/** Waits; false where the signal came before the time was over. */
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
