// Isolates die, clocks differ, answers come late, the object's clock goes back over midnight.

import * as fc from "fast-check";
import { expect, it } from "vitest";
import { DailyCalls, type DailyAuthority, type DailyCaller } from "../../../src/limits/daily-calls.ts";
import { resolveLimits } from "../../../src/limits/limit-definitions.ts";
import { limitStore, type LimitMethods } from "../../../src/limits/limit-store.ts";
import { SEED } from "../../support/seed.ts";
import { withStore } from "../../support/workerd/tenant.ts";

const MIDNIGHT = Date.UTC(2026, 10, 22);

/** Moves only when nobody is at work, from one thing that is due to the next. */
class VirtualTime {
  now = MIDNIGHT - 30_000;
  readonly #due: { readonly at: number; readonly run: () => void }[] = [];

  sleep(ms: number): Promise<void> {
    return new Promise((run) => this.#due.push({ at: this.now + ms, run }));
  }

  async run(until: number): Promise<void> {
    for (;;) {
      for (let turn = 0; turn < 30; turn += 1) await Promise.resolve();
      this.#due.sort((one, other) => one.at - other.at);
      const [next] = this.#due;
      if (!next || next.at > until) break;
      this.#due.shift();
      this.now = Math.max(this.now, next.at);
      next.run();
    }
    this.now = until;
  }
}

interface Isolate {
  readonly skew: number;
  readonly daily: DailyCalls;
  readonly alive: { is: boolean };
}

interface LimitState {
  readonly time: VirtualTime;
  readonly authority: { skew: number };
  readonly methods: LimitMethods;
  readonly clock: { now: number };
}

function authorityOf(state: LimitState, { alive, skew }: Isolate, lag: number): DailyAuthority {
  const { time, clock, methods, authority } = state;
  const ask = async <T>(work: () => T): Promise<T> => {
    await time.sleep(lag);
    clock.now = time.now + authority.skew;
    const done = work();
    await time.sleep(lag);
    // What an isolate takes along when it dies, nobody goes on with.
    return alive.is ? done : new Promise<never>(() => {});
  };
  return {
    take: (limits) => ask(() => methods.take(limits)),
    count: (counted) => ask(() => methods.count(counted)),
    waitUntil: (work) => void work(),
    sleep: (ms) => time.sleep(ms),
    now: () => time.now + skew,
  };
}

const step = fc.record({
  isolate: fc.nat(2),
  key: fc.nat(1),
  wait: fc.oneof(fc.constant(0), fc.nat(400), fc.nat(12_000)),
  lag: fc.oneof(fc.constant(0), fc.nat(400), fc.nat(6000)),
  dies: fc.nat(20).map((lot) => lot === 0),
  clock: fc.oneof({ weight: 5, arbitrary: fc.constant(null) }, fc.integer({ min: -2000, max: 2000 })),
});

type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

const MOST = 12;
const MOST_OF_KEY = 8;
const limits = resolveLimits({ dailyToolCalls: MOST, principalDailyToolCalls: MOST_OF_KEY, exact: true });
const newIsolate = (skew: number): Isolate => ({ skew, daily: new DailyCalls(), alive: { is: true } });

/** How many calls of each key were served. */
async function play(state: LimitState, steps: readonly Step[]): Promise<number[]> {
  const isolates = [0, 900, -900].map(newIsolate);
  const counts = [0, 0];
  for (const { isolate: at, key, wait, lag, dies, clock } of steps) {
    await state.time.run(state.time.now + wait);
    if (clock !== null) state.authority.skew = clock;
    const isolate = isolates[at] ?? newIsolate(0);
    if (dies) {
      isolate.alive.is = false;
      isolates[at] = newIsolate(isolate.skew);
      continue;
    }
    const caller: DailyCaller = { tenant: "t", created: "c", id: `k${key}`, isAnonymous: false, limits };
    const now = state.time.now + isolate.skew;
    const met = isolate.daily.take(caller, now, () => authorityOf(state, isolate, lag));
    void Promise.resolve(met).then((refused) => {
      if (refused === undefined) counts[key] = (counts[key] ?? 0) + 1;
    });
  }
  await state.time.run(state.time.now + 60_000);
  return counts;
}

it("never serves more than an exact limit allows, nor more than it allows one key", async () => {
  await withStore(limitStore, async ({ methods, clock, sql }) => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 120 }), async (steps) => {
        sql.exec("DELETE FROM daily_calls");
        const [one = 0, other = 0] = await play(
          { time: new VirtualTime(), authority: { skew: 0 }, methods, clock },
          steps,
        );
        // It begins half a minute before midnight, so it is of two days at most.
        expect(one + other).toBeLessThanOrEqual(2 * MOST);
        expect(Math.max(one, other)).toBeLessThanOrEqual(2 * MOST_OF_KEY);
      }),
      { ...SEED, numRuns: 300 },
    );
  });
});
