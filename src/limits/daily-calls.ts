// Counts tool calls towards the daily limits. Under an exact limit each call asks the tenant's object. Otherwise an isolate counts by
// itself, and every five seconds it reports the calls of all callers and learns what all isolates have counted: no call waits.

import type { LimitName } from "../tenants/document/tenant-document.ts";
import { lasts } from "../tenants/isolate/lasting.ts";
import { dayOf, endOf, untilTomorrowMs } from "./day.ts";
import type { LimitedCaller, LimitMet } from "./limiter.ts";
import type { CountedCalls, DailyLimit, DailyUse, TakenCall } from "./limit-tables.ts";
import { RecentMap } from "./recent-map.ts";

/** A tenant's object, as far as daily limits go. */
export interface DailyAuthority {
  take(limits: readonly DailyLimit[]): Promise<TakenCall>;
  count(counted: readonly CountedCalls[]): Promise<DailyUse>;
  /** Work that goes on after the answer. */
  later(work: () => Promise<void>): void;
  sleep(ms: number): Promise<void>;
  now(): number;
}

export interface DailyCaller extends LimitedCaller {
  /** When the tenant was made, which tells it from others of its name. */
  readonly created: string;
}

/** How often an isolate reports what it counted. */
export const REPORT_MS = 5000;
const MOST_COUNTS = 20_000;
const MOST_TENANTS = 20_000;
/** Callers in one question to the object, which answers nobody else meanwhile. */
const AT_ONCE = 500;

/** What an isolate knows of the calls of one day and caller, or of all callers. */
class Count {
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

  learn(used: number, day: string): void {
    this.used = used;
    this.until = endOf(day);
  }

  /** Gives how many calls to report. They count as reported from now on, whether or not the report is heard of: none counts twice. */
  report(now: number): number {
    const calls = this.unreported;
    this.unreported = 0;
    this.learn((this.isKnown(now) ? this.used : 0) + calls, dayOf(now));
    return calls;
  }
}

interface Held {
  readonly name: LimitName;
  readonly most: number;
  readonly who: string;
  readonly count: Count;
}

/** Of one tenant. */
interface Report {
  /** When it goes, and when the last one was answered; milliseconds since the epoch. */
  at: number;
  learnt: number;
  /** By whose calls they are. Bound: the callers of five seconds. */
  readonly due: Map<string, Held>;
}

export class DailyCalls {
  readonly #counts = new RecentMap<Count>(MOST_COUNTS);
  readonly #reports = new RecentMap<Report>(MOST_TENANTS);

  /** Counts one tool call. A promise only where the object has to be asked first. */
  take(
    caller: DailyCaller,
    now: number,
    authority: () => DailyAuthority,
  ): LimitMet | undefined | Promise<LimitMet | undefined> {
    const { dailyToolCalls, principalDailyToolCalls, exact } = caller.limits;
    if (dailyToolCalls === Infinity && principalDailyToolCalls === Infinity) return undefined;
    const held = this.#heldBy(caller);
    const met = metIn(held, now);
    if (met) return met;
    if (exact) return takeExactly(held, now, authority());
    const report = this.#reportOf(caller);
    for (const one of held) {
      one.count.unreported += 1;
      report.due.set(one.who, one);
    }
    if (!lasts(report.at, REPORT_MS, now)) reportLater(report, now, authority());
    return undefined;
  }

  #reportOf({ tenant, created }: DailyCaller): Report {
    const key = `${tenant} ${created}`;
    let report = this.#reports.get(key);
    if (!report) this.#reports.set(key, (report = { at: 0, learnt: 0, due: new Map() }));
    return report;
  }

  #heldBy({ tenant, created, id, isAnonymous, limits }: DailyCaller): Held[] {
    const held: Held[] = [];
    const add = (name: LimitName, who: string) => {
      const most = limits[name];
      if (most === Infinity) return;
      const key = `${tenant} ${created} ${who}`;
      let count = this.#counts.get(key);
      if (!count) this.#counts.set(key, (count = new Count()));
      held.push({ name, most, who, count });
    };
    add("dailyToolCalls", "");
    add("principalDailyToolCalls", isAnonymous ? `address ${id}` : `key ${id}`);
    return held;
  }
}

function metIn(held: readonly Held[], now: number): LimitMet | undefined {
  const met = held.find(({ count, most }) => count.usedAt(now) >= most);
  return met && limitMet(met, now);
}

function limitMet({ name, most }: Held, now: number): LimitMet {
  return { name, most, seconds: 86_400, waitMs: untilTomorrowMs(now) };
}

async function takeExactly(
  held: readonly Held[],
  now: number,
  authority: DailyAuthority,
): Promise<LimitMet | undefined> {
  const use = await authority.take(held.map(({ who, most }) => ({ who, most })));
  learn(held, use);
  // By what the object counts: its clock may be of another day.
  const met = use.isTaken ? undefined : held.find(({ most }, at) => (use.used[at] ?? 0) >= most);
  return met && limitMet(met, now);
}

function learn(held: readonly Held[], { used, day }: DailyUse): void {
  for (const [at, { count }] of held.entries()) count.learn(used[at] ?? 0, day);
}

function reportLater(report: Report, now: number, authority: DailyAuthority): void {
  report.at = now + REPORT_MS;
  // An isolate that nobody called for a while learns at once what the others have counted.
  if (!lasts(report.learnt + REPORT_MS, REPORT_MS, now)) authority.later(() => send(report, authority));
  authority.later(async () => {
    await authority.sleep(REPORT_MS);
    await send(report, authority);
  });
}

/** A report that fails is not made again: its calls may have been counted. */
async function send(report: Report, authority: DailyAuthority): Promise<void> {
  const due = [...report.due.values()];
  report.due.clear();
  for (let from = 0; from < due.length; from += AT_ONCE) {
    const part = due.slice(from, from + AT_ONCE);
    const now = authority.now();
    const counted = part.map(({ who, most, count }) => ({ who, most, calls: count.report(now) }));
    learn(part, await authority.count(counted));
    report.learnt = authority.now();
  }
}
