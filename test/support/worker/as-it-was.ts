// Owns that a file leaves the clock and the timers as they were, where one workerd serves other files after it. Refuses to
// put them back in silence: what a spy would restore later counts, too.

import { afterAll, expect, vi } from "vitest";

const clock = (): unknown[] => [setTimeout, clearTimeout, setInterval, clearInterval, Date, Reflect.get(Date, "now")];
const before = clock();

afterAll(() => {
  vi.restoreAllMocks();
  const after = clock();
  expect(
    after.findIndex((one, at) => one !== before[at]),
    "a timer or the clock is not as it was",
  ).toBe(-1);
});
