// Owns the way from a request to its tenant's authority for what it decides of limits: shares of the day's calls. Tells whoever
// hears of it that a limit was met.

import { DailyShares, type DailyAuthority, type DailyCaller } from "../limits/daily-shares.ts";
import { limitTables, type Want } from "../limits/limit-tables.ts";
import type { LimitMet } from "../limits/limiter.ts";
import { AppError } from "../protocol/app-error.ts";
import { remote } from "../tenants/authority/tables.ts";
import { inTime } from "../tenants/isolate/in-time.ts";
import type { Entered } from "./entered.ts";

/** One for all tenants of this isolate. Bound: MOST_HELD of daily-shares.ts. */
const shares = new DailyShares();
const RETRY_S = 5;

/** Counts one call of a tool towards the day. */
export function limitDaily(
  entered: Entered,
  caller: DailyCaller,
): LimitMet | undefined | Promise<LimitMet | undefined> {
  return shares.take(caller, Date.now(), () => authorityOf(entered));
}

function authorityOf(entered: Entered): DailyAuthority {
  const whoOf = async (who: string) => (who === "" ? who : entered.visit.ownerOf(entered.principal.id));
  return {
    share: async (wants) => {
      const stored: Want[] = await Promise.all(wants.map(async (want) => ({ ...want, who: await whoOf(want.who) })));
      try {
        return await inTime(remote(entered.stub(), limitTables).share(stored));
      } catch (error) {
        if (error instanceof AppError) throw error;
        throw new AppError("unavailable", { retryAfter: RETRY_S, cause: error });
      }
    },
    giveBack: async (day, who, count) => remote(entered.stub(), limitTables).giveBack(day, await whoOf(who), count),
    later: (work) => {
      entered.waitUntil(
        work().catch((error: unknown) => {
          entered.onError(error);
        }),
      );
    },
    sleep: (ms) => scheduler.wait(ms),
    now: Date.now,
  };
}

/** Tells the features that hear of limits which one somebody met. */
export function tellMet(entered: Entered, met: Pick<LimitMet, "name" | "most">): void {
  for (const { limitMet } of entered.visit.deployment.features) limitMet?.(entered, met);
}
