import { onTestFinished, vi } from "vitest";

/** Until the test ends, timers of more than a second take a `divisor`th of their time. */
export function shortenTimers(divisor: number): void {
  const setTimer = setTimeout;
  vi.stubGlobal("setTimeout", (run: () => void, ms = 0) => setTimer(run, ms > 1000 ? ms / divisor : ms));
  onTestFinished(() => {
    vi.unstubAllGlobals();
  });
}
