// Owns that a file leaves the clock, the timers, `fetch` and the bytes that an isolate holds as they were, where one workerd serves other files after it. Refuses
// to put clock and timers back in silence: what a spy would restore later counts, too. `fetch` is put back here alone, since what
// a test's upstream is asked when its test has ended must not reach the network.

import { afterAll, expect, vi } from "vitest";
import { MEMORY_BUDGET } from "../../../src/tenants/cache/memory-budget.ts";

const clock = (): unknown[] => [setTimeout, clearTimeout, setInterval, clearInterval, Date, Reflect.get(Date, "now")];
const before = clock();
const ownFetch = fetch;

afterAll(async () => {
  vi.restoreAllMocks();
  const after = clock();
  vi.unstubAllGlobals();
  expect(
    after.findIndex((one, at) => one !== before[at]),
    "a timer or the clock is not as it was",
  ).toBe(-1);
  expect(fetch, "`fetch` is not as it was").toBe(ownFetch);
  await vi.waitFor(() => expect(MEMORY_BUDGET.total, "bytes are held that nobody reads").toBe(0), { timeout: 5_000 });
});
