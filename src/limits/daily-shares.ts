// Owns what this isolate holds of its tenants' daily limits, and asking for more. Under an exact limit a call waits for
// its share; otherwise it is served while more is asked for, and the authority learns of it then.

import { AppError } from "../protocol/app-error.ts";
import type { LimitName } from "../tenants/document/tenant-document.ts";
import type { LimitedCaller, LimitMet } from "./limiter.ts";
import type { Given, Want } from "./limit-tables.ts";
import { RecentMap } from "./recent-map.ts";
import { Share, SHARE_MS, untilTomorrowMs } from "./share.ts";

/** A tenant's authority, as far as daily limits go. */
export interface DailyAuthority {
  share(wants: readonly Want[]): Promise<Given>;
  giveBack(day: string, who: string, count: number): Promise<void>;
  /** Work that goes on after the answer. */
  later(work: () => Promise<void>): void;
  sleep(ms: number): Promise<void>;
  now(): number;
}

export interface DailyCaller extends LimitedCaller {
  /** When the tenant was made, which tells it from others of its name. */
  readonly created: string;
}

interface Held {
  readonly name: LimitName;
  readonly most: number;
  readonly who: string;
  readonly share: Share;
}

const MOST_HELD = 20_000;
/** How long a limit that is used up is not asked about again: calls may be given back. */
const EMPTY_MS = 1000;
const ASKING_MS = 2000;

export class DailyShares {
  readonly #shares = new RecentMap<Share>(MOST_HELD);

  /** Counts one tool call. A promise only where the authority has to be asked first. */
  take(
    caller: DailyCaller,
    now: number,
    authority: () => DailyAuthority,
  ): LimitMet | undefined | Promise<LimitMet | undefined> {
    const { dailyToolCalls, principalDailyToolCalls, exact } = caller.limits;
    if (dailyToolCalls === Infinity && principalDailyToolCalls === Infinity) return undefined;
    const held = this.#heldBy(caller);
    const missing = takeEach(held, now, !exact);
    if (missing.length === 0) {
      if (!exact && held.some(({ share }) => isDue(share, now))) askLater(held, authority());
      return undefined;
    }
    const empty = missing.find(({ share }) => now < share.emptyUntil);
    if (empty) {
      untake(takenOf(held, missing));
      return metDaily(empty, now);
    }
    return takeAfterAsking(held, missing, authority());
  }

  #heldBy({ tenant, created, id, isAnonymous, limits }: DailyCaller): Held[] {
    const held: Held[] = [];
    const add = (name: LimitName, who: string) => {
      const most = limits[name];
      if (most === Infinity) return;
      const key = `${tenant} ${created} ${who}`;
      const share = this.#shares.get(key) ?? new Share();
      this.#shares.set(key, share);
      held.push({ name, most, who, share });
    };
    add("dailyToolCalls", "");
    add("principalDailyToolCalls", isAnonymous ? `address ${id}` : `key ${id}`);
    return held;
  }
}

/** Those of which there was nothing to take. */
function takeEach(held: readonly Held[], now: number, owing: boolean): Held[] {
  return held.filter(({ share }) => !share.take(now, owing));
}

interface Taken {
  readonly share: Share;
  readonly day: string;
}

function takenOf(held: readonly Held[], missing: readonly Held[]): Taken[] {
  return held.filter((one) => !missing.includes(one)).map(({ share }) => ({ share, day: share.day }));
}

/** Puts back what was taken of one limit for a call that another one refuses; of a day that is over, nothing. */
function untake(taken: readonly Taken[]): void {
  for (const { share, day } of taken) {
    if (share.owed > 0) share.owed -= 1;
    else if (share.day === day) share.left += 1;
  }
}

/** Among many callers at once others use up what one has brought, so it is asked again; but not for ever. */
const MOST_ASKS = 100;
const MOST_WAIT_MS = 30_000;
const RETRY_S = 5;

/**
 * While one call asks, others may bring more, or use up what it brought, or it is over before it is there: then it asks
 * again, some times, as long as there is some.
 */
async function takeAfterAsking(
  held: readonly Held[],
  wanting: readonly Held[],
  authority: DailyAuthority,
): Promise<LimitMet | undefined> {
  const taken = takenOf(held, wanting);
  let missing = wanting;
  const begun = authority.now();
  for (let asks = 0; asks < MOST_ASKS && authority.now() - begun < MOST_WAIT_MS; asks += 1) {
    await ask(missing, authority);
    const now = authority.now();
    const left = takeEach(missing, now, false);
    taken.push(...takenOf(missing, left));
    missing = left;
    const [first] = missing;
    if (!first) return undefined;
    const empty = missing.find(({ share }) => now < share.emptyUntil);
    if (!empty) continue;
    untake(taken);
    return metDaily(empty, now);
  }
  untake(taken);
  throw new AppError("unavailable", { retryAfter: RETRY_S });
}

async function ask(wanting: readonly Held[], authority: DailyAuthority): Promise<void> {
  const asked = authority.now();
  // A share that ended has one who gives it back, if not in time: what comes now must not end with it.
  for (const { share, who } of wanting) if (asked >= share.until) giveBack({ share, who }, authority);
  const wants = wanting.map(({ who, most, share }) => ({ who, most, count: share.owed + 1 }));
  const { day, counts } = await authority.share(wants);
  for (const [at, held] of wanting.entries()) {
    receive(held, { wanted: wants[at]?.count ?? 0, given: counts[at] ?? 0, day, asked }, authority);
  }
}

interface Received {
  readonly wanted: number;
  readonly given: number;
  readonly day: string;
  readonly asked: number;
}

function receive({ share, who }: Held, { wanted, given, day, asked }: Received, authority: DailyAuthority): void {
  // More may be owed than was asked for: calls were served meanwhile. That alone does not mean that nothing is left.
  const paid = Math.min(share.owed, given);
  share.owed -= paid;
  share.receive(given - paid, { day, asked });
  if (given < wanted) share.emptyUntil = authority.now() + EMPTY_MS;
  // One is for the call that asked.
  if (share.left > 1) giveBackLater({ share, who }, authority);
}

function giveBackLater({ share, who }: Pick<Held, "share" | "who">, authority: DailyAuthority): void {
  authority.later(async () => {
    await authority.sleep(SHARE_MS);
    // What came after has an end of its own.
    if (authority.now() >= share.until) giveBack({ share, who }, authority);
  });
}

function giveBack({ share, who }: Pick<Held, "share" | "who">, authority: DailyAuthority): void {
  const { day } = share;
  const left = share.drain();
  if (left > 0) authority.later(() => authority.giveBack(day, who, left));
}

function isDue(share: Share, now: number): boolean {
  return share.owed > 0 && now >= share.askedUntil;
}

/** Until nothing is owed or nothing is left: nobody may call after those that were served while an answer was awaited. */
function askLater(held: readonly Held[], authority: DailyAuthority): void {
  const owing = held.filter(({ share }) => share.owed > 0);
  for (const { share } of owing) share.askedUntil = authority.now() + ASKING_MS;
  authority.later(async () => {
    try {
      let due: readonly Held[] = owing;
      for (let asks = 0; due.length > 0 && asks < MOST_ASKS; asks += 1) {
        await ask(due, authority);
        due = due.filter(({ share }) => share.owed > 0 && share.emptyUntil === 0);
      }
    } finally {
      for (const { share } of owing) share.askedUntil = 0;
    }
  });
}

function metDaily({ name, most }: Held, now: number): LimitMet {
  return { name, most, seconds: 86_400, waitMs: untilTomorrowMs(now) };
}
