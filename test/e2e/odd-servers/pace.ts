// How long a row is waited for, and how many at a time.

import type { OddRow } from "./odd-row.ts";

/** What a client and a gateway wait for an answer that never comes, and for one that a busy machine is slow to give. */
const SILENT_MS = { client: 2500, upstream: 3000 } as const;
const SLOW_MS = { client: 20_000, upstream: 20_000 } as const;
/** Not so many at once that one hangs for another on a machine that is busy. */
export const LANES = { direct: 8, gateway: 4, tenants: 3 } as const;

export const limitsOf = ({ isSilent }: OddRow) => (isSilent ? SILENT_MS : SLOW_MS);

export async function inLanes<T, R>(
  lanes: number,
  items: readonly T[],
  work: (item: T) => Promise<R>,
): Promise<readonly R[]> {
  const results: R[] = [];
  const entries = items.entries();
  const lane = async () => {
    for (const [index, item] of entries) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return results;
}
