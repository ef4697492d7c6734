// What an isolate holds of a daily limit, while many calls come at once and the authority takes its time.

import { describe, expect, test } from "vitest";
import { DailyShares, type DailyAuthority } from "../../src/limits/daily-shares.ts";
import type { Given, Want } from "../../src/limits/limit-tables.ts";
import { limitsInForce } from "../../src/limits/limit-table.ts";
import { shareOf } from "../../src/limits/share.ts";

const NOW = Date.UTC(2026, 10, 22, 12);
const DAY = "2026-11-22";

/** An authority whose answers come when the test lets them. */
function authorityWith(most: number) {
  let used = 0;
  let wanted = 0;
  const waiting: (() => void)[] = [];
  const works: Promise<void>[] = [];
  const authority: DailyAuthority = {
    share: async (wants: readonly Want[]): Promise<Given> => {
      await new Promise<void>((resolve) => waiting.push(resolve));
      const counts = wants.map(({ count }) => {
        wanted += count;
        const given = shareOf(most - used, count);
        used += given;
        return given;
      });
      return { day: DAY, counts };
    },
    giveBack: async () => {},
    later: (work) => {
      works.push(work());
    },
    // What is not used is given back long after the test.
    sleep: () => new Promise(() => {}),
    now: () => NOW,
  };
  /** Lets all asks be answered that were sent until now. */
  const answer = async () => {
    for (const resolve of waiting.splice(0)) resolve();
    await Promise.resolve();
    await Promise.all(works.splice(0, works.length - waiting.length).map((work) => Promise.race([work, tick()])));
  };
  return { authority, answer, wanted: () => wanted };
}

const tick = () => new Promise<void>((resolve) => setImmediate(resolve));

const callerOf = (exact: boolean) => ({
  tenant: "acme",
  created: "2026-01-01T00:00:00.000Z",
  id: "key a",
  isAnonymous: false,
  limits: limitsInForce({ dailyToolCalls: 100, exact }),
});

describe("a daily limit that need not be exact", () => {
  test("is not used up because calls were served while more was asked for", async () => {
    const { authority, answer } = authorityWith(100);
    const shares = new DailyShares();
    const take = async () => shares.take(callerOf(false), NOW, () => authority);
    // The first asks for a little; the others are served before the answer comes, and are more than the answer has.
    for (let call = 0; call < 40; call += 1) expect(await take()).toBeUndefined();
    await answer();
    for (let call = 0; call < 30; call += 1)
      expect(await take(), `call ${call} of 30 after the answer`).toBeUndefined();
  });

  test("is told to the authority to the last call, though nobody calls any more", async () => {
    const { authority, answer, wanted } = authorityWith(100);
    const shares = new DailyShares();
    const take = async () => shares.take(callerOf(false), NOW, () => authority);
    for (let call = 0; call < 500; call += 1) expect(await take()).toBeUndefined();
    // The first ask was for what was served when it was sent; the others were served since.
    await answer();
    await answer();
    // Two, for which five were given, and what was owed then, with one more each time.
    expect(wanted()).toBe(2 + 500 - 5 + 1);
    expect(await take()).toMatchObject({ name: "dailyToolCalls", most: 100 });
  });

  test("ends when the authority has fewer than were served", async () => {
    const { authority, answer } = authorityWith(10);
    const shares = new DailyShares();
    const take = async () => shares.take(callerOf(false), NOW, () => authority);
    for (let call = 0; call < 40; call += 1) await take();
    await answer();
    await take();
    await answer();
    expect(await take()).toMatchObject({ name: "dailyToolCalls", most: 100 });
  });
});

describe("an authority whose answers come when they are over already", () => {
  test("is asked some times, and then the call ends as unavailable", async () => {
    let now = NOW;
    let asked = 0;
    const authority: DailyAuthority = {
      share: async (wants) => {
        asked += 1;
        if (asked > 100) throw new Error("asked without end");
        now += 11_000;
        return { day: DAY, counts: wants.map(({ count }) => count) };
      },
      giveBack: async () => {},
      later: () => {},
      sleep: async () => {},
      now: () => now,
    };
    const taking = async () => new DailyShares().take(callerOf(true), now, () => authority);
    await expect(taking()).rejects.toMatchObject({ key: "unavailable" });
    expect(asked).toBeLessThan(10);
  });
});
