// Owns the way from a request to its tenant's authority for what it decides of limits: shares of the day's calls, and
// noting that a limit was met.

import { DailyShares, type DailyAuthority, type DailyCaller } from "../limits/daily-shares.ts";
import { limitTables, type Want } from "../limits/limit-tables.ts";
import type { LimitMet } from "../limits/limiter.ts";
import { RecentMap } from "../limits/recent-map.ts";
import { AppError } from "../protocol/app-error.ts";
import { remote } from "../tenants/authority/tables.ts";
import { inTime } from "../tenants/isolate/in-time.ts";
import type { Entered } from "./entered.ts";

/** One for all tenants of this isolate. */
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

/** Which limits of which tenants were noted, and in which hour: the authority is told of each once. */
const noted = new RecentMap<number>(10_000);
const HOUR_MS = 3_600_000;

/** Writes down that a limit was met, for `explain` and the audit log. */
export function noteMet(entered: Entered, { name, most }: Pick<LimitMet, "name" | "most">): void {
  const { created } = entered.snapshot;
  const hour = Math.floor(Date.now() / HOUR_MS);
  const key = `${entered.tenant} ${created} ${name}`;
  if (noted.get(key) === hour) return;
  noted.set(key, hour);
  const record = { name, most, who: entered.principal.id };
  entered.waitUntil(
    remote(entered.stub(), limitTables)
      .noteMet(record)
      .catch((error: unknown) => {
        entered.onError(error);
      }),
  );
}
