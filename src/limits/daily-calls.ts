// Counts tool calls towards the daily limits. Under an exact limit each call asks the tenant's object. Otherwise an isolate counts by
// itself, and every five seconds it reports its calls and learns what all isolates have counted: no call waits.

import type { LimitName } from "../tenants/document/tenant-document.ts";
import { endOf, untilTomorrowMs } from "./day.ts";
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
}

export interface DailyCaller extends LimitedCaller {
  /** When the tenant was made, which tells it from others of its name. */
  readonly created: string;
}

/** How often an isolate reports what it counted. */
export const REPORT_MS = 5000;
const MOST_COUNTS = 20_000;

/** What an isolate knows of the calls of one day and caller, or of all callers. */
class Count {
  /** As the object counted, without what is not reported. */
  used = 0;
  /** When the day of `used` is over, milliseconds since the epoch. */
  until = 0;
  unreported = 0;
  /** Calls until then have a report that is on its way. */
  reportAt = 0;

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
}

interface Held {
  readonly name: LimitName;
  readonly most: number;
  readonly who: string;
  readonly count: Count;
}

export class DailyCalls {
  readonly #counts = new RecentMap<Count>(MOST_COUNTS);

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
    for (const { count } of held) count.unreported += 1;
    const due = held.filter(({ count }) => now >= count.reportAt);
    if (due.length > 0) reportLater(due, now, authority());
    return undefined;
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

function reportLater(due: readonly Held[], now: number, authority: DailyAuthority): void {
  const isKnown = due.every(({ count }) => count.isKnown(now));
  for (const { count } of due) count.reportAt = now + REPORT_MS;
  if (!isKnown) authority.later(() => report(due, authority));
  authority.later(async () => {
    await authority.sleep(REPORT_MS);
    await report(due, authority);
  });
}

/** What fails stays, and goes with the next report. */
async function report(due: readonly Held[], authority: DailyAuthority): Promise<void> {
  const counted = due.map(({ who, most, count }) => ({ who, most, calls: Math.max(0, count.unreported) }));
  if (counted.every(({ calls }) => calls === 0)) return;
  learn(due, await authority.count(counted));
  for (const [at, { count }] of due.entries()) count.unreported -= counted[at]?.calls ?? 0;
}
