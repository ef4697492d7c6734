// Fails a file that leaves the clock, the timers, `fetch` or held bytes changed: one workerd serves other files after it.
// `fetch` is restored here alone: a request that an ended test's upstream still gets must not reach the network.

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
