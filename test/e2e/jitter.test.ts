// What holds, holds where everything is far away and fails: two Workers over one storage, every call to an object delayed by
// chance, objects reset, connections and sockets cut, both killed and started again. Rounds draw from a seed each, which is
// said with what went wrong: `SEED=N npx vitest run test/e2e/jitter.test.ts -t NAME` begins with that one.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { announcements } from "./jitter/announcements.ts";
import { bases } from "./jitter/bases.ts";
import { batches } from "./jitter/batches.ts";
import { CUT_OFF_AFTER_MS, type Check, type Played } from "./jitter/check.ts";
import { createDraws, type Draws } from "./jitter/draws.ts";
import { exports } from "./jitter/exports.ts";
import { names } from "./jitter/names.ts";
import { recreations } from "./jitter/recreations.ts";
import { registers } from "./jitter/registers.ts";
import { VARS, UnreliableWorkers, type Weather } from "./jitter/unreliable-workers.ts";
import { SEED } from "../support/seed.ts";
import { sized } from "../support/tier.ts";
import { startWorkerPair } from "../support/worker-pair.ts";

const CHECKS: readonly Check[] = [registers, announcements, names, bases, recreations, exports, batches];
/** A check begins no further group of rounds after so long: a first one always. With the last groups 5 minutes, in a soak an hour. */
const FOR_MS = sized({ usual: 0, long: 3 * 60_000, soak: 60 * 60_000 }) / CHECKS.length;
const AT_ONCE = sized({ usual: 1, long: 4 });
/** From the mildest to the worst, in turn: each check begins with another one, so that a short run has them all. */
const WEATHERS: readonly Weather[] = [
  { jitterMs: 60 },
  { jitterMs: 150, sockets: true, resets: true },
  { jitterMs: sized({ usual: 250, long: 400 }) },
  { jitterMs: 40, resets: true, sockets: true, kills: true },
];

interface Row {
  readonly check: string;
  rounds: number;
  operations: number;
  violations: number;
}

const table: Row[] = [];
let workers: UnreliableWorkers;
let storage = "";
beforeAll(async () => {
  storage = await mkdtemp(join(tmpdir(), "tenantry-jitter-"));
  workers = await UnreliableWorkers.begin(() => startWorkerPair(VARS, storage));
}, 600_000);
afterAll(async () => {
  await workers.end();
  await rm(storage, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  const lines = table.map((row) => [row.check.padEnd(14), row.rounds, row.operations, row.violations].join("\t"));
  const faults = [...workers.faults].map(([fault, count]) => `${count} × ${fault}`).join(", ");
  process.stdout.write(`check         \trounds\toperations\tviolations\n${lines.join("\n")}\nfaults: ${faults}\n`);
});

/** The same weather for all of them: it begins when all are ready, and ends when all are through. */
function sharedStorm(count: number, weather: Weather, draws: Draws): (work: () => Promise<unknown>) => Promise<void> {
  const [ready, through] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let [entered, left] = [0, 0];
  const storm = ready.promise.then(() => workers.during(weather, draws, () => through.promise));
  return async (work) => {
    entered += 1;
    if (entered === count) ready.resolve();
    await ready.promise;
    await work();
    left += 1;
    if (left === count) through.resolve();
    await storm;
  };
}

/** Several rounds of one check at the same time. Gives how each came out. */
async function playGroup(check: Check, seed: number): Promise<readonly Played[]> {
  const { name, play } = check;
  const draws = createDraws(seed);
  const weather = WEATHERS[(seed + CHECKS.indexOf(check)) % WEATHERS.length] as Weather;
  const isFaulty = weather.sockets === true || weather.resets === true;
  const pass = sharedStorm(AT_ONCE, weather, draws.fork());
  const rounds = Array.from({ length: AT_ONCE }, async (_none, at) => {
    let isThrough = false;
    const stormy = async <T>(work: () => Promise<T>): Promise<T> => {
      isThrough = true;
      let done: Promise<T> | undefined;
      await pass(async () => {
        done = work();
        await done.catch(() => {});
      });
      return done as Promise<T>;
    };
    try {
      return await play({ workers, draws: draws.fork(), tag: `${name}-${seed}-${at}`, isFaulty, stormy });
    } catch (error) {
      // The others do not wait for one that never began.
      if (!isThrough) await pass(async () => {});
      return { operations: 0, violations: [`it did not come to its end: ${String(error)}`] };
    }
  });
  return Promise.all(rounds);
}

test.each(CHECKS)(
  "$name: $claim",
  async (check) => {
    const row: Row = { check: check.name, rounds: 0, operations: 0, violations: 0 };
    table.push(row);
    const violations: string[] = [];
    const later: { readonly seed: number; readonly judge: NonNullable<Played["later"]> }[] = [];
    const until = Date.now() + FOR_MS;
    for (let group = 0; group === 0 || Date.now() < until; group += 1) {
      const seed = (SEED.seed + group) % 2 ** 31;
      for (const played of await playGroup(check, seed)) {
        row.rounds += 1;
        row.operations += played.operations;
        violations.push(...played.violations.map((violation) => `SEED=${seed}: ${violation}`));
        if (played.later) later.push({ seed, judge: played.later });
      }
      violations.push(...workers.unanswered().map((violation) => `SEED=${seed}: though nothing failed, ${violation}`));
    }
    if (later.length > 0) await workers.age(CUT_OFF_AFTER_MS);
    for (const { seed, judge } of later)
      violations.push(...(await judge()).map((violation) => `SEED=${seed}: ${violation}`));
    row.violations = violations.length;
    expect(violations).toEqual([]);
  },
  3_600_000,
);
