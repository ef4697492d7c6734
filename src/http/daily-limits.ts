// The way from a request to its tenant's object for daily limits.

import { DailyCalls, type DailyAuthority, type DailyCaller } from "../limits/daily-calls.ts";
import { limitTables, type DailyLimit } from "../limits/limit-tables.ts";
import type { LimitMet } from "../limits/limiter.ts";
import { AppError } from "../protocol/app-error.ts";
import { remote } from "../tenants/authority/tables.ts";
import { inTime } from "../tenants/isolate/in-time.ts";
import type { Entered } from "./entered.ts";

/** One for all tenants of this isolate. Bound: MOST_COUNTS of daily-calls.ts. */
const daily = new DailyCalls();
const RETRY_S = 5;

/** Counts one call of a tool towards the day. */
export function limitDaily(
  entered: Entered,
  caller: DailyCaller,
): LimitMet | undefined | Promise<LimitMet | undefined> {
  return daily.take(caller, Date.now(), () => authorityOf(entered));
}

function authorityOf(entered: Entered): DailyAuthority {
  const stored = <T extends DailyLimit>(limits: readonly T[]): Promise<T[]> =>
    Promise.all(
      limits.map(async (limit) =>
        limit.who === "" ? limit : { ...limit, who: await entered.visit.ownerOf(entered.principal.id) },
      ),
    );
  return {
    take: async (limits) => {
      const asked = await stored(limits);
      try {
        return await inTime(remote(entered.stub(), limitTables).take(asked));
      } catch (error) {
        if (error instanceof AppError) throw error;
        throw new AppError("unavailable", { retryAfter: RETRY_S, cause: error });
      }
    },
    count: async (counted) => inTime(remote(entered.stub(), limitTables).count(await stored(counted))),
    later: (work) => {
      entered.waitUntil(
        work().catch((error: unknown) => {
          entered.onError(error);
        }),
      );
    },
    sleep: (ms) => scheduler.wait(ms),
    now: () => Date.now(),
  };
}

/** Tells the features that hear of limits which one somebody met. */
export function tellMet(entered: Entered, met: Pick<LimitMet, "name" | "most">): void {
  for (const { limitMet } of entered.visit.deployment.features) limitMet?.(entered, met);
}
