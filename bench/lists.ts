// Whether a list costs about as much as a call, in one Worker with many tools: it is encoded once for those who see the
// same of it. Both sides are one process, so its heap and caches hold for both.
import { compare, warmUp } from "./measure.ts";
import type { Comparison, Pace } from "./measure.ts";
import type { Running } from "./runtime.ts";
import { list2026, load2026 } from "./scenarios.ts";

export const LISTED_TOOLS = 60;
export const LIST = `list of ${LISTED_TOOLS} tools`;
/** As a ratio to a call of one of them. */
export const LIST_BUDGET = 1.2;

export async function measureList(running: Running, pace: Pace): Promise<Comparison> {
  const list = { ...running, load: list2026(LISTED_TOOLS) };
  const call = { ...running, load: load2026 };
  for (const side of [list, call]) await warmUp(side, pace.warmupMs / 2);
  return compare(list, call, pace);
}
