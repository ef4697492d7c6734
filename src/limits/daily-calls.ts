// Counts tool calls towards the daily limits. Under an exact limit each call asks the tenant's object. Otherwise an isolate counts by
// itself, and every five seconds it reports the calls of all callers and learns what all isolates have counted: no call waits.

import type { LimitName } from "../tenants/document/tenant-document.ts";
import { isUnexpired } from "../tenants/cache/is-unexpired.ts";
import { dayOf, endOfDay, untilTomorrowMs } from "./day.ts";
import type { LimitedCaller, LimitRejection } from "./rate-limiter.ts";
import type { CountedCalls, DailyLimit, DailyUse, CountResult } from "./limit-store.ts";
import { LruMap } from "./lru-map.ts";

/** A tenant's object, as far as daily limits go. */
export interface DailyAuthority {
  take(limits: readonly DailyLimit[]): Promise<CountResult>;
  count(counted: readonly CountedCalls[]): Promise<DailyUse>;
  /** Work that goes on after the answer. */
  waitUntil(work: () => Promise<void>): void;
  sleep(ms: number): Promise<void>;
  now(): number;
}

export interface DailyCaller extends LimitedCaller {
  /** When the tenant was made, which tells it from others of its name. */
  readonly created: string;
}

/** How often an isolate reports what it counted. */
export const REPORT_MS = 5000;
const MAX_COUNTS = 20_000;
const MAX_TENANTS = 20_000;
/** Callers in one question to the object, which answers nobody else meanwhile. */
const REPORT_BATCH = 500;

/** What an isolate knows of the calls of one day and caller, or of all callers. */
class DayCount {
  /** As the object counted, without what is not reported. */
  used = 0;
  /** When the day of `used` is over, milliseconds since the epoch. */
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

  /** Gives how many calls to report. They count as reported from now on, whether or not the report is heard of: none counts twice. */
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
  readonly who: string;
  readonly count: DayCount;
}

/** Of one tenant. */
interface Report {
  /** When it goes, and when the last one was answered; milliseconds since the epoch. */
  dueAt: number;
  answeredAt: number;
  /** By whose calls they are. Bound: the callers of five seconds. */
  readonly due: Map<string, CountedLimit>;
}

export class DailyCalls {
  readonly #counts = new LruMap<DayCount>(MAX_COUNTS);
  readonly #reports = new LruMap<Report>(MAX_TENANTS);

  /** Counts one tool call. A promise only where the object has to be asked first. */
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
      report.due.set(one.who, one);
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
    const add = (name: LimitName, who: string) => {
      const most = limits[name];
      if (most === Infinity) return;
      const key = `${tenant} ${created} ${who}`;
      let count = this.#counts.get(key);
      if (!count) this.#counts.set(key, (count = new DayCount()));
      counted.push({ name, most, who, count });
    };
    add("dailyToolCalls", "");
    add("principalDailyToolCalls", isAnonymous ? `address ${id}` : `key ${id}`);
    return counted;
  }
}

function findExceeded(counted: readonly CountedLimit[], now: number): LimitRejection | undefined {
  const exceeded = counted.find(({ count, most }) => count.usedAt(now) >= most);
  return exceeded && toRejection(exceeded, now);
}

function toRejection({ name, most }: CountedLimit, now: number): LimitRejection {
  return { name, most, seconds: 86_400, waitMs: untilTomorrowMs(now) };
}

async function takeExactly(
  counted: readonly CountedLimit[],
  now: number,
  authority: DailyAuthority,
): Promise<LimitRejection | undefined> {
  const use = await authority.take(counted.map(({ who, most }) => ({ who, most })));
  updateCounts(counted, use);
  // By what the object counts: its clock may be of another day.
  const exceeded = use.isTaken ? undefined : counted.find(({ most }, at) => (use.used[at] ?? 0) >= most);
  return exceeded && toRejection(exceeded, now);
}

function updateCounts(counted: readonly CountedLimit[], { used, day }: DailyUse): void {
  for (const [at, { count }] of counted.entries()) count.update(used[at] ?? 0, day);
}

function reportLater(report: Report, now: number, authority: DailyAuthority): void {
  report.dueAt = now + REPORT_MS;
  // An isolate that nobody called for a while learns at once what the others have counted.
  if (!isUnexpired(report.answeredAt + REPORT_MS, REPORT_MS, now))
    authority.waitUntil(() => sendReport(report, authority));
  authority.waitUntil(async () => {
    await authority.sleep(REPORT_MS);
    await sendReport(report, authority);
  });
}

/** A report that fails is not made again: its calls may have been counted. */
async function sendReport(report: Report, authority: DailyAuthority): Promise<void> {
  const due = [...report.due.values()];
  report.due.clear();
  for (let from = 0; from < due.length; from += REPORT_BATCH) {
    const part = due.slice(from, from + REPORT_BATCH);
    const now = authority.now();
    const counted = part.map(({ who, most, count }) => ({ who, most, calls: count.takeUnreported(now) }));
    updateCounts(part, await authority.count(counted));
    report.answeredAt = authority.now();
  }
}
