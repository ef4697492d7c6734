// Counts tool calls towards the daily limits. Under an exact limit, each call asks the tenant object. Otherwise each
// isolate counts by itself, and no call waits. Every five seconds the isolate reports its counts and learns the total
// of all isolates.

import type { LimitName } from "../tenants/document/tenant-document.ts";
import { isUnexpired } from "../tenants/cache/is-unexpired.ts";
import { dayOf, endOfDay, untilTomorrowMs } from "./day.ts";
import type { LimitedCaller, LimitRejection } from "./rate-limiter.ts";
import type { CountedCalls, DailyLimit, DailyUse, CountResult } from "./limit-store.ts";
import { LruMap } from "./lru-map.ts";

/** The tenant object, as far as daily limits need it. */
export interface DailyAuthority {
  take(limits: readonly DailyLimit[]): Promise<CountResult>;
  count(counted: readonly CountedCalls[]): Promise<DailyUse>;
  /** Runs work that continues after the response. */
  waitUntil(work: () => Promise<void>): void;
  sleep(ms: number): Promise<void>;
  now(): number;
}

export interface DailyCaller extends LimitedCaller {
  /** When the tenant was created, which distinguishes it from others of its name. */
  readonly created: string;
}

/** How often an isolate reports its counts. */
export const REPORT_MS = 5000;
/** Precedes the address of a caller without a credential. No principal's id begins with it. */
export const ADDRESS = "address ";
const MAX_COUNTS = 20_000;
const MAX_TENANTS = 20_000;
/** The most callers in one report. The object answers no other request while it processes one. */
const REPORT_BATCH = 500;

/** An isolate's count of one day's calls, of one caller or of all callers. */
class DayCount {
  /** The tenant object's count, without unreported calls. */
  used = 0;
  /** When the day of `used` ends, in milliseconds since the epoch. */
  until = 0;
  unreported = 0;

  isKnown(now: number): boolean {
    return now < this.until;
  }

  usedAt(now: number): number {
    return (this.isKnown(now) ? this.used : 0) + this.unreported;
  }

  update(used: number, day: string): void {
    this.used = used;
    this.until = endOfDay(day);
  }

  /**
   * Returns how many calls to report. They count as reported from now on, even if the report is lost. So no call counts
   * twice.
   */
  takeUnreported(now: number): number {
    const calls = this.unreported;
    this.unreported = 0;
    this.update((this.isKnown(now) ? this.used : 0) + calls, dayOf(now));
    return calls;
  }
}

interface CountedLimit {
  readonly name: LimitName;
  readonly most: number;
  readonly caller: string;
  readonly count: DayCount;
}

interface Report {
  /** When the next report is due, and when the last one was answered; milliseconds since the epoch. */
  dueAt: number;
  answeredAt: number;
  /** Calls to report, by caller. Bound: the callers of five seconds. */
  readonly due: Map<string, CountedLimit>;
}

export class DailyCalls {
  readonly #counts = new LruMap<DayCount>(MAX_COUNTS);
  readonly #reports = new LruMap<Report>(MAX_TENANTS);

  /** Counts one tool call. Returns a promise only if the tenant object has to be asked first. */
  take(
    caller: DailyCaller,
    now: number,
    authority: () => DailyAuthority,
  ): LimitRejection | undefined | Promise<LimitRejection | undefined> {
    const { dailyToolCalls, principalDailyToolCalls, exact } = caller.limits;
    if (dailyToolCalls === Infinity && principalDailyToolCalls === Infinity) return undefined;
    const counted = this.#countsOf(caller);
    const rejection = findExceeded(counted, now);
    if (rejection) return rejection;
    if (exact) return takeExactly(counted, now, authority());
    const report = this.#reportOf(caller);
    for (const one of counted) {
      one.count.unreported += 1;
      report.due.set(one.caller, one);
    }
    if (!isUnexpired(report.dueAt, REPORT_MS, now)) reportLater(report, now, authority());
    return undefined;
  }

  #reportOf({ tenant, created }: DailyCaller): Report {
    const key = `${tenant} ${created}`;
    let report = this.#reports.get(key);
    if (!report) this.#reports.set(key, (report = { dueAt: 0, answeredAt: 0, due: new Map() }));
    return report;
  }

  #countsOf({ tenant, created, id, isAnonymous, limits }: DailyCaller): CountedLimit[] {
    const counted: CountedLimit[] = [];
    const add = (name: LimitName, caller: string) => {
      const most = limits[name];
      if (most === Infinity) return;
      const key = `${tenant} ${created} ${caller}`;
      let count = this.#counts.get(key);
      if (!count) this.#counts.set(key, (count = new DayCount()));
      counted.push({ name, most, caller, count });
    };
    add("dailyToolCalls", "");
    add("principalDailyToolCalls", isAnonymous ? ADDRESS + id : id);
    return counted;
  }
}

function findExceeded(counted: readonly CountedLimit[], now: number): LimitRejection | undefined {
  const exceeded = counted.find(({ count, most }) => count.usedAt(now) >= most);
  return exceeded && dailyRejection(exceeded, now);
}

function dailyRejection({ name, most }: CountedLimit, now: number): LimitRejection {
  return { name, most, seconds: 86_400, waitMs: untilTomorrowMs(now) };
}

async function takeExactly(
  counted: readonly CountedLimit[],
  now: number,
  authority: DailyAuthority,
): Promise<LimitRejection | undefined> {
  const use = await authority.take(counted.map(({ caller, most }) => ({ caller, most })));
  updateCounts(counted, use);
  // Decided by the object's counts, because its clock may be on another day.
  const exceeded = use.isTaken ? undefined : counted.find(({ most }, at) => (use.used[at] ?? 0) >= most);
  return exceeded && dailyRejection(exceeded, now);
}

function updateCounts(counted: readonly CountedLimit[], { used, day }: DailyUse): void {
  for (const [at, { count }] of counted.entries()) count.update(used[at] ?? 0, day);
}

function reportLater(report: Report, now: number, authority: DailyAuthority): void {
  report.dueAt = now + REPORT_MS;
  // An isolate without recent calls fetches the counts of the others at once.
  if (!isUnexpired(report.answeredAt + REPORT_MS, REPORT_MS, now))
    authority.waitUntil(() => sendReport(report, authority));
  authority.waitUntil(async () => {
    await authority.sleep(REPORT_MS);
    await sendReport(report, authority);
  });
}

/** A failed report is not repeated: its calls may have been counted. */
async function sendReport(report: Report, authority: DailyAuthority): Promise<void> {
  const due = [...report.due.values()];
  report.due.clear();
  for (let from = 0; from < due.length; from += REPORT_BATCH) {
    const part = due.slice(from, from + REPORT_BATCH);
    const now = authority.now();
    const counted = part.map(({ caller, most, count }) => ({ caller, most, calls: count.takeUnreported(now) }));
    updateCounts(part, await authority.count(counted));
    report.answeredAt = authority.now();
  }
}
